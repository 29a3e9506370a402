//! DLPack: the memory of tensors for other libraries, without copies. Out, by the array over a tensor's memory, which numpy exports; in, by an
//! array of numpy over the other's memory, whose values are then copied into a tensor, because a tensor never changes and their memory may.

use crate::array;
use crate::eager::EagerTensor;
use crate::errors::wrong_type;
use crate::values;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// What `tensor.__dlpack__(..)` returns: a capsule over its memory.
#[pyfunction]
#[pyo3(signature = (tensor, **kwargs))]
fn to_dlpack<'py>(
    tensor: &Bound<'py, EagerTensor>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let value = &tensor.get().value.tensor;
    if !array::is_known(value.dtype()) {
        return Err(wrong_type(format!("no other library knows tensors of {}", value.dtype().python_name())));
    }
    array::lent(tensor.py(), value.clone())?.call_method("__dlpack__", (), kwargs)
}

/// The device of all our memory: the CPU.
#[pyfunction]
fn dlpack_device(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    PyTuple::new(py, [1, 0])
}

/// The values of what another library exports.
#[pyfunction]
fn from_dlpack<'py>(other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    values::numpy(other.py())?.call_method1("from_dlpack", (other,))
}

pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(to_dlpack, m)?)?;
    m.add_function(wrap_pyfunction!(dlpack_device, m)?)?;
    m.add_function(wrap_pyfunction!(from_dlpack, m)?)
}
