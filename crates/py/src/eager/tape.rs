//! `Tape`: the engine's, and the stack of those that are open in each thread.

use super::{EagerTensor, EagerVariable, eager};
use crate::errors::OrRaise;
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};
use thalweg_client::eager as engine;
use thalweg_client::eager::{EagerGradient, EagerTensor as Value, Recorded};

thread_local! {
    static OPEN: RefCell<Vec<Py<Tape>>> = const { RefCell::new(Vec::new()) };
}

/// Records what is computed from what it watches.
#[pyclass(frozen, weakref, module = "thalweg._engine")]
pub struct Tape {
    tape: engine::Tape,
    /// Whether trainable variables are watched when they are used.
    watches_variables: bool,
    variables: Mutex<Vec<Py<EagerVariable>>>,
}

/// Whether a tape of this thread is open.
pub fn is_recording() -> bool {
    OPEN.with_borrow(|open| !open.is_empty())
}

/// The open tapes: copied, because what is done with one may run Python.
fn open(py: Python<'_>) -> Vec<Py<Tape>> {
    OPEN.with_borrow(|open| open.iter().map(|t| t.clone_ref(py)).collect())
}

pub fn record(py: Python<'_>, what: &Recorded, inputs: &[Value], outputs: &[Value]) {
    for tape in open(py) {
        tape.get().tape.record(what, inputs, outputs);
    }
}

/// Whether an open tape watches one of these.
pub fn watches(py: Python<'_>, ids: &[u64]) -> bool {
    open(py).iter().any(|tape| tape.get().tape.watches(ids.iter().copied()))
}

/// Open tapes watch a trainable variable that is used.
pub fn used(variable: &Bound<'_, EagerVariable>) {
    if !variable.get().trainable || !is_recording() {
        return;
    }
    for tape in open(variable.py()) {
        let tape = tape.get();
        if tape.watches_variables {
            tape.watch_variable(variable);
        }
    }
}

impl Tape {
    fn watch_variable(&self, variable: &Bound<'_, EagerVariable>) {
        self.tape.watch(variable.get().handle.id);
        let mut known = self.variables.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.iter().any(|v| v.is(variable)) {
            known.push(variable.clone().unbind());
        }
    }
}

fn tensors(list: &[Bound<'_, PyAny>]) -> PyResult<Vec<Value>> {
    list.iter()
        .map(|obj| match obj.cast::<EagerVariable>() {
            Ok(v) => Ok(v.get().handle.clone()),
            Err(_) => super::value(obj),
        })
        .collect()
}

#[pymethods]
impl Tape {
    #[new]
    fn new(watches_variables: bool) -> Tape {
        Tape { tape: engine::Tape::default(), watches_variables, variables: Mutex::default() }
    }

    fn open(slf: Py<Self>) {
        OPEN.with_borrow_mut(|open| open.push(slf));
    }

    /// Records no more; an error if it is not open in this thread.
    fn close(slf: &Bound<'_, Self>) -> bool {
        let found = OPEN.with_borrow_mut(|open| {
            let at = open.iter().rposition(|t| t.is(slf))?;
            Some(open.remove(at))
        });
        found.is_some()
    }

    fn watch(&self, obj: &Bound<'_, PyAny>) -> PyResult<()> {
        match obj.cast::<EagerVariable>() {
            Ok(v) => self.watch_variable(v),
            Err(_) => self.tape.watch(super::value(obj)?.id),
        }
        Ok(())
    }

    fn watched_variables(&self, py: Python<'_>) -> Vec<Py<EagerVariable>> {
        let known = self.variables.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().map(|v| v.clone_ref(py)).collect()
    }

    fn reset(&self) {
        self.tape.reset();
        let old = std::mem::take(&mut *self.variables.lock().unwrap_or_else(PoisonError::into_inner));
        drop(old);
    }

    /// For each source the gradient of the sum of the targets: a tensor, the three parts of rows, or None.
    #[pyo3(signature = (targets, sources, output_gradients=vec![]))]
    fn gradients(
        &self,
        py: Python<'_>,
        targets: Vec<Bound<'_, PyAny>>,
        sources: Vec<Bound<'_, PyAny>>,
        output_gradients: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Py<PyAny>>> {
        let (ys, xs, given) = (tensors(&targets)?, tensors(&sources)?, tensors(&output_gradients)?);
        let eager = eager(py)?;
        let found = py.detach(|| self.tape.gradients(eager, &ys, &xs, &given)).or_raise(py)?;
        if let Some(what) = found.what.filter(|_| is_recording()) {
            record(py, &what, &found.inputs, &found.outputs);
        }
        let tensor = |value: Value| EagerTensor::new(py, value);
        found
            .values
            .into_iter()
            .map(|gradient| {
                Ok(match gradient {
                    EagerGradient::None => py.None(),
                    EagerGradient::Dense(value) => tensor(value)?.into_any(),
                    EagerGradient::Slices { values, indices, dense_shape } => {
                        let parts = (tensor(values)?, tensor(indices)?, tensor(dense_shape)?);
                        py.import("thalweg._slices")?.getattr("IndexedSlices")?.call1(parts)?.unbind()
                    }
                })
            })
            .collect()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.variables.try_lock() {
            Ok(known) => known.iter().try_for_each(|v| visit.call(v)),
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        self.reset();
    }
}
