//! `Tensor`: an output of an operation. Operators and methods that make nodes are added by the package (`_operators.py`).

use crate::attrs::{shape_of, sizes};
use crate::dtype::{self, DType};
use crate::errors::{OrRaise, raise, wrong_type};
use crate::home::Home;
use crate::operation::Operation;
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use thalweg_client as client;
use thalweg_client::Output;

/// What `isinstance(x, tf.Tensor)` asks for: a tensor of a graph, or one with a value.
#[pyclass(frozen, weakref, dict, subclass, module = "thalweg", name = "Tensor")]
pub struct AnyTensor;

/// One of the outputs of an operation: what a graph will compute.
#[pyclass(frozen, extends = AnyTensor, module = "thalweg", name = "SymbolicTensor")]
pub struct Tensor {
    pub output: Output,
    pub home: Home,
}

impl Tensor {
    pub fn new(py: Python<'_>, output: Output, home: &Home) -> PyResult<Py<Tensor>> {
        Py::new(py, (Tensor { output, home: home.share(py) }, AnyTensor))
    }

    /// Node and index as one number.
    fn key(&self) -> u64 {
        self.output.id().map_or(u64::MAX, |id| ((id.node.at() as u64) << 32) | u64::from(id.index))
    }
}

#[pymethods]
impl Tensor {
    #[getter]
    fn name(&self) -> String {
        self.output.name()
    }

    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<DType>> {
        dtype::object(py, self.output.dtype())
    }

    /// The sizes as far as known, or None.
    #[getter]
    fn _dims(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        sizes(py, &self.output.shape())
    }

    #[getter]
    fn op(&self, py: Python<'_>) -> PyResult<Py<Operation>> {
        Operation::new(py, self.output.op(), &self.home)
    }

    #[getter]
    fn graph(&self, py: Python<'_>) -> Py<PyAny> {
        self.home.graph.clone_ref(py)
    }

    #[getter]
    fn device(&self) -> String {
        self.output.op().device()
    }

    #[getter]
    fn value_index(&self) -> u32 {
        self.output.id().map_or(0, |id| id.index)
    }

    /// The operations that take this tensor.
    fn consumers(&self, py: Python<'_>) -> PyResult<Vec<Py<Operation>>> {
        let Some(id) = self.output.id() else { return Ok(Vec::new()) };
        let scope = self.output.scope();
        let found: Vec<_> =
            scope.read(|g| g.ids().filter(|node| g.node(*node).inputs.contains(&id)).collect());
        found.into_iter().map(|node| Operation::new(py, scope.operation_of(node), &self.home)).collect()
    }

    /// Refines the static shape.
    fn set_shape(&self, shape: &Bound<'_, PyAny>) -> PyResult<()> {
        self.output.with_shape(&shape_of(shape)?);
        match self.output.scope().take_error() {
            Some(e) => Err(raise(shape.py(), &self.home, self.output.scope(), e)),
            None => Ok(()),
        }
    }

    fn __hash__(&self) -> u64 {
        self.key()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Tensor>().is_ok_and(|other| {
            let other = other.get();
            self.key() == other.key() && self.output.scope().shares_graph_with(other.output.scope())
        })
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(wrong_type(
            "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed: it has no value until a session runs it. Use `tf.cond`, \
             `tf.where` or `tf.logical_and`, or compare the result of `Session.run`.",
        ))
    }

    fn __repr__(&self) -> String {
        format!(
            "<tf.Tensor '{}' shape={} dtype={}>",
            self.output.name(),
            self.output.shape().python(),
            self.output.dtype().python_name()
        )
    }

    fn __str__(&self) -> String {
        let (name, dtype) = (self.output.name(), self.output.dtype().python_name());
        match self.output.shape().rank() {
            Some(_) => self.output.to_string(),
            None => format!("Tensor(\"{name}\", dtype={dtype})"),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.home.graph)
    }
}

/// The shape that fulfils both; an error if there is none.
#[pyfunction]
pub fn merge_shapes(a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = a.py();
    let merged: client::PartialShape = shape_of(a)?.merge(&shape_of(b)?).or_raise(py)?;
    sizes(py, &merged)
}
