//! Loops and branches, whose parts are functions of Python.

use crate::args;
use crate::functions::call;
use crate::scope::Scope;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use std::cell::RefCell;
use thalweg_client as client;
use thalweg_client::Output;

/// Keeps the first exception.
fn keep(failed: &RefCell<Option<PyErr>>, e: PyErr) {
    let mut failed = failed.borrow_mut();
    if failed.is_none() {
        *failed = Some(e);
    }
}

/// A loop; both functions take the loop variables, and return lists.
pub fn while_loop(
    scope: &Scope,
    py: Python<'_>,
    cond: &Bound<'_, PyAny>,
    body: &Bound<'_, PyAny>,
    initial: &[Bound<'_, PyAny>],
    parallel_iterations: i64,
) -> PyResult<Vec<Py<Tensor>>> {
    let initial: Vec<Output> = initial.iter().map(args::existing).collect::<PyResult<_>>()?;
    let initial: Vec<&Output> = initial.iter().collect();
    let failed: RefCell<Option<PyErr>> = RefCell::default();
    let fail = |e: PyErr| keep(&failed, e);
    let outputs = scope.build(py, |g| {
        let outputs = g.while_loop(
            &initial,
            parallel_iterations,
            |g, v| match call(scope, g, cond, v).map(|r| r.into_iter().next()) {
                Ok(Some(pred)) => pred,
                Ok(None) => g.constant(false),
                Err(e) => {
                    fail(e);
                    g.constant(false)
                }
            },
            |g, v| {
                call(scope, g, body, v).unwrap_or_else(|e| {
                    fail(e);
                    v.to_vec()
                })
            },
        );
        failed.take().map_or(Ok(outputs), Err)
    });
    outputs_of(scope, py, outputs)
}

/// A branch; the functions take nothing, and return lists.
pub fn cond(
    scope: &Scope,
    py: Python<'_>,
    pred: &Bound<'_, PyAny>,
    then: &Bound<'_, PyAny>,
    otherwise: &Bound<'_, PyAny>,
) -> PyResult<Vec<Py<Tensor>>> {
    let pred = args::existing(pred)?;
    let failed: RefCell<Option<PyErr>> = RefCell::default();
    let run = |g: &client::Scope, function: &Bound<'_, PyAny>| {
        call(scope, g, function, &[]).unwrap_or_else(|e| {
            keep(&failed, e);
            Vec::new()
        })
    };
    let outputs = scope.build(py, |g| {
        let outputs = g.cond(&pred, &[], |g, _| run(g, then), |g, _| run(g, otherwise));
        failed.take().map_or(Ok(outputs), Err)
    });
    outputs_of(scope, py, outputs)
}

fn outputs_of(
    scope: &Scope,
    py: Python<'_>,
    outputs: PyResult<client::Outputs>,
) -> PyResult<Vec<Py<Tensor>>> {
    let outputs = outputs.inspect_err(|_| drop(scope.scope.take_error()))?;
    outputs.iter().map(|o| Tensor::new(py, o.clone(), &scope.home)).collect()
}
