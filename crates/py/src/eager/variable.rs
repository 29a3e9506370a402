//! `EagerVariable`: state with a value, which graphs can use too. Its methods are the package's (`_variables.py`).

use super::{EagerTensor, eager, ops, tape};
use crate::attrs::sizes;
use crate::dtype::{self, DType};
use crate::errors::{OrRaise, wrong_type};
use crate::op_table::registry;
use crate::variables::{AnyVariable, Variable};
use pyo3::prelude::*;
use thalweg_client::eager::{Eager, EagerTensor as Value};
use thalweg_client::{Attrs, DataType, PartialShape};

/// A variable of no graph.
#[pyclass(frozen, extends = AnyVariable, module = "thalweg", name = "EagerVariable")]
pub struct EagerVariable {
    pub handle: Value,
    pub dtype: DataType,
    pub trainable: bool,
    shape: PartialShape,
    name: String,
    owner: &'static Eager,
}

impl Drop for EagerVariable {
    fn drop(&mut self) {
        if let Ok([handle]) = self.handle.tensor.resources() {
            self.owner.forget(handle);
        }
    }
}

impl EagerVariable {
    fn of(py: Python<'_>, name: String, handle: Value, trainable: bool) -> PyResult<Py<EagerVariable>> {
        let contents = match handle.tensor.resources().or_raise(py)? {
            [one] => one.values.first().cloned(),
            _ => None,
        };
        let (dtype, shape) = contents.ok_or_else(|| wrong_type(format!("'{name}' is no variable")))?;
        let made = EagerVariable { handle, dtype, trainable, shape, name, owner: eager(py)? };
        Py::new(py, (made, AnyVariable))
    }

    /// The handle, for an op that uses the variable: tapes watch it.
    pub fn watched(&self, slf: &Bound<'_, EagerVariable>) -> Value {
        tape::used(slf);
        self.handle.clone()
    }

    /// The current value.
    pub fn read(slf: &Bound<'_, EagerVariable>, eager: &'static Eager) -> PyResult<Value> {
        let py = slf.py();
        let handle = slf.get().watched(slf);
        let mut attrs = Attrs::new();
        attrs.set("dtype", slf.get().dtype);
        let op = registry().find("ReadVariableOp").or_raise(py)?;
        let (_, read) = ops::run(py, eager, op, &[1], &[handle], &attrs)?;
        read.into_iter().next().ok_or_else(|| wrong_type("a variable without a value"))
    }
}

/// A variable with this value.
#[pyfunction]
pub fn eager_variable(
    py: Python<'_>,
    name: String,
    value: &Bound<'_, PyAny>,
    trainable: bool,
) -> PyResult<Py<EagerVariable>> {
    let value = super::value(value)?.tensor;
    let handle = eager(py)?.variable(&name, value).or_raise(py)?;
    EagerVariable::of(py, name, handle, trainable)
}

/// The variable that a graph made: `handle` is the value of its handle in a session of eager execution.
#[pyfunction]
pub fn adopted_variable(
    py: Python<'_>,
    of: &Bound<'_, Variable>,
    handle: &Bound<'_, PyAny>,
) -> PyResult<Py<EagerVariable>> {
    let variable = &of.get().variable;
    EagerVariable::of(py, variable.name(), super::value(handle)?, variable.trainable)
}

#[pymethods]
impl EagerVariable {
    #[getter]
    fn name(&self) -> String {
        format!("{}:0", self.name)
    }

    #[getter]
    fn _shared_name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<DType>> {
        dtype::object(py, self.dtype)
    }

    #[getter]
    fn _dims(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        sizes(py, &self.shape)
    }

    #[getter]
    fn trainable(&self) -> bool {
        self.trainable
    }

    #[getter]
    fn _id(&self) -> u64 {
        self.handle.id
    }

    /// The handle as a tensor, for ops that use the variable.
    #[getter]
    fn handle(slf: &Bound<'_, Self>) -> PyResult<Py<EagerTensor>> {
        EagerTensor::new(slf.py(), slf.get().watched(slf))
    }

    /// The handle as a tensor, for graphs.
    #[getter]
    fn _handle(&self, py: Python<'_>) -> PyResult<Py<EagerTensor>> {
        EagerTensor::new(py, self.handle.clone())
    }

    fn _read(slf: &Bound<'_, Self>) -> PyResult<Py<EagerTensor>> {
        EagerTensor::new(slf.py(), EagerVariable::read(slf, eager(slf.py())?)?)
    }

    fn __hash__(&self) -> u64 {
        self.handle.id
    }
}
