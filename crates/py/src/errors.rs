//! Errors of the engine as exceptions: classes of `thalweg.errors` by canonical code, with the node and the line that made it.

use crate::home::{Home, Place, current_place};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use thalweg_client as client;
use thalweg_client::Error;

/// The exception for an error of a graph: made at the line of its node, or at the current line if the node could not be made.
pub fn raise(py: Python<'_>, home: &Home, scope: &client::Scope, e: Error) -> PyErr {
    let node = e.node().and_then(|name| scope.read(|g| g.find(name)));
    let place = match node {
        Some(id) => home.place_of(id.at()),
        None => current_place(py),
    };
    exception(py, &e, node.is_some().then_some(&home.graph), place)
}

/// The exception for an error outside of any graph.
pub fn plain(py: Python<'_>, e: Error) -> PyErr {
    exception(py, &e, None, None)
}

fn exception(py: Python<'_>, e: &Error, graph: Option<&Py<PyAny>>, place: Option<Place>) -> PyErr {
    let place = place.map(|p| (p.file.to_string(), p.line));
    let made = py.import("thalweg.errors").and_then(|errors| {
        let args = (e.code() as i32, e.message(), e.node(), graph.map(|g| g.clone_ref(py)), place);
        errors.getattr("_from_engine")?.call1(args)
    });
    match made {
        Ok(made) => PyErr::from_value(made),
        // While the interpreter ends, modules are gone.
        Err(_) => PyRuntimeError::new_err(e.to_string()),
    }
}

/// Calls that make an error of the engine an exception without a node.
pub trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for client::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|e| plain(py, e))
    }
}

pub fn wrong_type(text: impl Into<String>) -> PyErr {
    PyTypeError::new_err(text.into())
}
