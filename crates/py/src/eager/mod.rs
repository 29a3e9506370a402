//! Eager execution for Python: tensors with values, variables, tapes, and graphs that are called with values. One device for all of it.

mod function;
mod ops;
mod tape;
mod tensor;
mod variable;

pub use tensor::EagerTensor;
pub use variable::EagerVariable;

use crate::errors::{OrRaise, wrong_type};
use crate::interrupts::forks;
use crate::op_table::registry;
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::{Mutex, PoisonError};
use thalweg_client as client;
use thalweg_client::SessionOptions;
use thalweg_client::eager::Eager;

/// The device, and the number of forks when it was made: the threads of a pool do not live in a child.
static EAGER: Mutex<Option<(&'static Eager, u64)>> = Mutex::new(None);

thread_local! {
    static KNOWN: Cell<Option<(&'static Eager, u64)>> = const { Cell::new(None) };
    /// Whether this thread builds a graph: ops on values are nodes of it.
    static IN_GRAPH: Cell<bool> = const { Cell::new(false) };
}

/// The one device of eager execution. A forked process gets another; variables and tensors live on.
fn eager(py: Python<'_>) -> PyResult<&'static Eager> {
    let forks = forks();
    if let Some((eager, _)) = KNOWN.get().filter(|(_, made)| *made == forks) {
        return Ok(eager);
    }
    let mut shared = EAGER.lock().unwrap_or_else(PoisonError::into_inner);
    let eager = match *shared {
        Some((eager, made)) if made == forks => eager,
        _ => {
            let made: &'static Eager =
                Box::leak(Box::new(Eager::new(registry(), SessionOptions::default()).or_raise(py)?));
            *shared = Some((made, forks));
            made
        }
    };
    KNOWN.set(Some((eager, forks)));
    Ok(eager)
}

fn in_graph_now() -> bool {
    IN_GRAPH.get()
}

/// Says whether this thread builds a graph from now on, and returns whether it did.
#[pyfunction]
fn set_in_graph(building: bool) -> bool {
    IN_GRAPH.replace(building)
}

/// A tensor or variable with a value, in the graph that is being built.
pub fn in_graph<'py>(obj: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    obj.py().import("thalweg._eager")?.getattr("_in_graph")?.call1((obj,))
}

/// The tensor of an object that has a value.
pub fn value(obj: &Bound<'_, PyAny>) -> PyResult<client::eager::EagerTensor> {
    match obj.cast::<EagerTensor>() {
        Ok(t) => Ok(t.get().value.clone()),
        Err(_) => Err(wrong_type(format!("needs a tensor with a value, got {obj}"))),
    }
}

/// Forgets the kernels, and with them the state of random ops: a new seed begins new sequences.
#[pyfunction]
fn clear_kernels(py: Python<'_>) -> PyResult<()> {
    eager(py)?.ops().clear();
    Ok(())
}

/// A number that no tensor and no variable has.
#[pyfunction]
fn fresh_id(py: Python<'_>) -> PyResult<u64> {
    Ok(eager(py)?.fresh_id())
}

pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<EagerTensor>()?;
    m.add_class::<EagerVariable>()?;
    m.add_class::<tape::Tape>()?;
    m.add_class::<function::GraphFunction>()?;
    m.add_function(wrap_pyfunction!(set_in_graph, m)?)?;
    m.add_function(wrap_pyfunction!(clear_kernels, m)?)?;
    m.add_function(wrap_pyfunction!(fresh_id, m)?)?;
    m.add_function(wrap_pyfunction!(ops::eager_op, m)?)?;
    m.add_function(wrap_pyfunction!(ops::eager_convert, m)?)?;
    m.add_function(wrap_pyfunction!(ops::eager_constant, m)?)?;
    m.add_function(wrap_pyfunction!(variable::eager_variable, m)?)?;
    m.add_function(wrap_pyfunction!(variable::adopted_variable, m)?)
}
