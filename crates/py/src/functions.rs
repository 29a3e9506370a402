//! Functions of Python traced into functions of the graph's library: those of datasets.

use crate::args;
use crate::attrs::{shape_of, sizes};
use crate::dtype::{self, DType};
use crate::scope::Scope;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::cell::RefCell;
use thalweg_client::{Output, TracedFunction};

/// A function's name, the values of the graph around it that it uses, and types and sizes of its results.
pub type Traced = (String, Vec<Py<Tensor>>, Vec<(Py<DType>, Py<PyAny>)>);

/// Calls a function of Python with a scope on top of its graph's stack, and tensors; what it returns, one or a list, are outputs.
pub fn call(
    scope: &Scope,
    g: &thalweg_client::Scope,
    function: &Bound<'_, PyAny>,
    given: &[Output],
) -> PyResult<Vec<Output>> {
    let py = function.py();
    let given: Vec<Py<Tensor>> =
        given.iter().map(|o| Tensor::new(py, o.clone(), &scope.home)).collect::<PyResult<_>>()?;
    let inner = Scope::of(py, g.clone(), &scope.home)?;
    let call = py.import("thalweg._graphs")?.getattr("_call_in")?;
    let made = call.call1((inner, function, PyTuple::new(py, given)?))?;
    let list: Vec<Bound<'_, PyAny>> = made.extract()?;
    list.iter().map(|item| args::output_of(g, item, None, "Const")).collect()
}

/// Traces a function of tensors of these types and shapes, which returns a list.
pub fn trace(
    scope: &Scope,
    name: &str,
    arguments: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
    function: &Bound<'_, PyAny>,
) -> PyResult<Traced> {
    let py = function.py();
    let arguments = arguments
        .iter()
        .map(|(t, s)| Ok((dtype::from_python(t)?, shape_of(s)?)))
        .collect::<PyResult<Vec<_>>>()?;
    let failed: RefCell<Option<PyErr>> = RefCell::default();
    let made: PyResult<TracedFunction> = scope.try_build(py, |g| {
        g.function(name, &arguments, |inner, given| {
            call(scope, inner, function, given).unwrap_or_else(|e| {
                failed.replace(Some(e));
                Vec::new()
            })
        })
    });
    if let Some(e) = failed.take() {
        drop(scope.scope.take_error());
        return Err(e);
    }
    let made = made?;
    let captured =
        made.captured.iter().map(|o| Tensor::new(py, o.clone(), &scope.home)).collect::<PyResult<_>>()?;
    let results = made.results.iter().map(|(t, s)| Ok((dtype::object(py, *t)?, sizes(py, s)?)));
    Ok((made.func.name.to_string(), captured, results.collect::<PyResult<_>>()?))
}
