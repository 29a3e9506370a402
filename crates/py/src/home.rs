//! `Home`: the graph that something belongs to, as Python knows it, and the lines of Python that its nodes come from.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_client as client;

/// The `tf.Graph` with its lines of code.
pub struct Home {
    /// The `tf.Graph`, which scopes, tensors and operations keep alive.
    pub graph: Py<PyAny>,
    places: Arc<Mutex<Places>>,
}

/// For each node, the line that made it.
#[derive(Default)]
struct Places {
    known: Vec<Place>,
    numbers: HashMap<Place, u32>,
    /// By node: one more than the index of its place, zero if it has none.
    by_node: Vec<u32>,
}

/// A line of a file.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Place {
    pub file: Arc<str>,
    pub line: u32,
}

impl Home {
    pub fn new(graph: Py<PyAny>) -> Home {
        Home { graph, places: Arc::default() }
    }

    pub fn share(&self, py: Python<'_>) -> Home {
        Home { graph: self.graph.clone_ref(py), places: self.places.clone() }
    }

    /// Notes that the nodes of these numbers come from the current line, if they are not known to come from another.
    pub fn note(&self, py: Python<'_>, first: usize, end: usize) {
        if first >= end {
            return;
        }
        let Some(place) = current_place(py) else { return };
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let Places { known, numbers, by_node } = &mut *places;
        let number = *numbers.entry(place).or_insert_with_key(|place| {
            known.push(place.clone());
            known.len() as u32
        });
        if by_node.len() < end {
            by_node.resize(end, 0);
        }
        let fresh = by_node.iter_mut().take(end).skip(first).filter(|n| **n == 0);
        fresh.for_each(|n| *n = number);
    }

    /// The line that made a node.
    pub fn place_of(&self, node: usize) -> Option<Place> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let number = *places.by_node.get(node)?;
        places.known.get((number as usize).checked_sub(1)?).cloned()
    }
}

/// The number of nodes of a graph.
pub fn nodes(scope: &client::Scope) -> usize {
    scope.read(|g| g.len())
}

/// The innermost line of Python outside of this package.
pub fn current_place(py: Python<'_>) -> Option<Place> {
    static SYS_GETFRAME: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static PACKAGE: PyOnceLock<String> = PyOnceLock::new();
    let getframe = SYS_GETFRAME
        .get_or_try_init(py, || PyResult::Ok(py.import("sys")?.getattr("_getframe")?.unbind()))
        .ok()?;
    let package = PACKAGE.get_or_try_init(py, || package_folder(py)).ok()?;
    let mut frame = getframe.call0(py).ok()?.into_bound(py);
    while !frame.is_none() {
        let file = frame.getattr(intern!(py, "f_code")).ok()?.getattr(intern!(py, "co_filename")).ok()?;
        let file = file.cast_into::<PyString>().ok()?;
        let name = file.to_cow().ok()?;
        if !name.starts_with(package.as_str()) {
            let line = frame.getattr(intern!(py, "f_lineno")).ok()?.extract().unwrap_or(0);
            return Some(Place { file: name.as_ref().into(), line });
        }
        frame = frame.getattr(intern!(py, "f_back")).ok()?;
    }
    None
}

/// The folder of the package, with a slash.
fn package_folder(py: Python<'_>) -> PyResult<String> {
    let file: String = py.import("thalweg")?.getattr("__file__")?.extract()?;
    Ok(file.strip_suffix("__init__.py").unwrap_or(&file).to_string())
}
