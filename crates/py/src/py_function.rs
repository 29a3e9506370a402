//! `PyFunc`: a function of Python as an op of sessions in this process. A step holds Python's lock only while the function runs.

use crate::errors::{OrRaise, wrong_type};
use crate::values;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use thalweg_core::cpu;
use thalweg_core::error::{Code, Error, Result, failed_precondition};
use thalweg_core::kernel::{Kernel, KernelNode, OpCall};
use thalweg_core::op::Op;

/// Calls the function of Python with this token.
pub static PY_FUNC: Op = Op {
    name: "PyFunc",
    doc: "Calls a function of Python, in the process that made it.",
    inputs: &["input: Tin"],
    outputs: &["output: Tout"],
    attrs: &["token: string", "Tin: list(type) >= 0", "Tout: list(type) >= 0"],
    kernels: cpu!(make prepare),
    expensive: true,
    ..Op::STATEFUL
};

static FUNCTIONS: Mutex<Option<HashMap<String, Py<PyAny>>>> = Mutex::new(None);

/// Makes a function callable by nodes with this token.
#[pyfunction]
pub fn register_function(token: String, function: Py<PyAny>) {
    let mut functions = FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    functions.get_or_insert_default().insert(token, function);
}

/// Forgets a function, when its graph is gone.
#[pyfunction]
pub fn forget_function(token: &str) {
    let old = FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(|f| f.remove(token));
    drop(old);
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let token = node.attrs.str("token")?.to_string();
    let types = node.attrs.types("Tout")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let inputs = (0..c.inputs.len()).map(|i| c.input(i).cloned()).collect::<Result<Vec<_>>>()?;
        let outputs = Python::attach(|py| {
            let called = called(py, &token, inputs, &types);
            called.map_err(|e| of_python(py, e))
        })?;
        outputs.into_iter().enumerate().for_each(|(i, value)| c.set(i, value));
        Ok(())
    }))
}

fn called(
    py: Python<'_>,
    token: &str,
    inputs: Vec<thalweg_client::Tensor>,
    types: &[thalweg_client::DataType],
) -> PyResult<Vec<thalweg_client::Tensor>> {
    let function = {
        let functions = FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner);
        functions.as_ref().and_then(|f| f.get(token)).map(|f| f.clone_ref(py))
    };
    let gone = || failed_precondition("the function of Python is of another process, or its graph is gone");
    let function = function.ok_or_else(gone).or_raise(py)?;
    let args = inputs.into_iter().map(|t| values::to_python(py, t)).collect::<PyResult<Vec<_>>>()?;
    let results: Vec<Bound<'_, PyAny>> = function.bind(py).call1(PyTuple::new(py, args)?)?.extract()?;
    if results.len() != types.len() {
        let text =
            format!("the function returned {} values, its op has {} results", results.len(), types.len());
        return Err(wrong_type(text));
    }
    results.iter().zip(types).map(|(value, dtype)| values::tensor_of(value, Some(*dtype))).collect()
}

/// An exception as an error of the op: its class decides the code, as in TensorFlow.
fn of_python(py: Python<'_>, e: PyErr) -> Error {
    use pyo3::exceptions::*;
    let code = if e.is_instance_of::<PyTypeError>(py) || e.is_instance_of::<PyValueError>(py) {
        Code::InvalidArgument
    } else if e.is_instance_of::<PyStopIteration>(py) {
        Code::OutOfRange
    } else if e.is_instance_of::<PyMemoryError>(py) {
        Code::ResourceExhausted
    } else if e.is_instance_of::<PyNotImplementedError>(py) {
        Code::Unimplemented
    } else if e.is_instance_of::<PyKeyboardInterrupt>(py) {
        Code::Cancelled
    } else {
        Code::Unknown
    };
    let trace = e.traceback(py).and_then(|t| t.format().ok()).unwrap_or_default();
    Error::new(code, format!("{e}\n{trace}"))
}
