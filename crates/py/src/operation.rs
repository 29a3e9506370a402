//! `Operation`: a node of a graph.

use crate::attrs;
use crate::home::Home;
use crate::tensor::Tensor;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use thalweg_client as client;
use thalweg_core::signature::ArgSpec;

/// A node of a graph.
#[pyclass(frozen, weakref, dict, module = "thalweg", name = "Operation")]
pub struct Operation {
    pub op: client::Operation,
    pub home: Home,
}

impl Operation {
    pub fn new(py: Python<'_>, op: client::Operation, home: &Home) -> PyResult<Py<Operation>> {
        Py::new(py, Operation { op, home: home.share(py) })
    }

    fn key(&self) -> u64 {
        self.op.id().map_or(u64::MAX, |id| id.at() as u64)
    }

    /// Reads its node.
    fn node<T>(&self, read: impl FnOnce(&thalweg_graph::Graph, &thalweg_graph::Node) -> T) -> PyResult<T> {
        let id = self.op.id().ok_or_else(|| PyValueError::new_err("the operation could not be made"))?;
        Ok(self.op.scope().read(|g| read(g, g.node(id))))
    }
}

/// The outputs of a node as a function of Python returns them: nothing (the operation), one, a list, or a tuple of those.
pub fn results(py: Python<'_>, op: client::Operation, home: &Home) -> PyResult<Py<PyAny>> {
    let made = Operation { op, home: home.share(py) };
    let ranges = made.node(|g, node| {
        let signature = g.signature(node.op).ok()?;
        let is_list = |arg: &ArgSpec| {
            arg.number.is_some() || matches!(arg.ty, thalweg_core::signature::ArgType::List(_))
        };
        let lists: Vec<bool> = signature.outputs.iter().map(is_list).collect();
        Some((signature.output_ranges(&node.attrs).ok()?, lists))
    })?;
    let (ranges, lists) = ranges.unwrap_or_default();
    let output = |i: usize| Tensor::new(py, made.op.output(i as u32), home);
    let mut parts: Vec<Py<PyAny>> = Vec::new();
    for (range, is_list) in ranges.into_iter().zip(lists) {
        parts.push(match is_list {
            true => range.map(output).collect::<PyResult<Vec<_>>>()?.into_pyobject(py)?.into_any().unbind(),
            false => output(range.start)?.into_any(),
        });
    }
    match parts.len() {
        0 => Ok(Py::new(py, made)?.into_any()),
        1 => Ok(parts.remove(0)),
        _ => Ok(pyo3::types::PyTuple::new(py, parts)?.into_any().unbind()),
    }
}

#[pymethods]
impl Operation {
    #[getter]
    fn name(&self) -> String {
        self.op.name()
    }

    #[getter]
    fn r#type(&self) -> PyResult<&'static str> {
        self.node(|_, node| node.op.name)
    }

    #[getter]
    fn device(&self) -> String {
        self.op.device()
    }

    #[getter]
    fn graph(&self, py: Python<'_>) -> Py<PyAny> {
        self.home.graph.clone_ref(py)
    }

    #[getter]
    fn outputs(&self, py: Python<'_>) -> PyResult<Vec<Py<Tensor>>> {
        let count = self.node(|_, node| node.outputs.len())?;
        (0..count).map(|i| Tensor::new(py, self.op.output(i as u32), &self.home)).collect()
    }

    #[getter]
    fn inputs(&self, py: Python<'_>) -> PyResult<Vec<Py<Tensor>>> {
        let inputs = self.node(|_, node| node.inputs.clone())?;
        let tensor = |id| Tensor::new(py, self.op.scope().output_of(id), &self.home);
        inputs.into_iter().map(tensor).collect()
    }

    #[getter]
    fn control_inputs(&self, py: Python<'_>) -> PyResult<Vec<Py<Operation>>> {
        let control = self.node(|_, node| node.control.clone())?;
        let operation = |id| Operation::new(py, self.op.scope().operation_of(id), &self.home);
        control.into_iter().map(operation).collect()
    }

    /// The file and line of Python that made it.
    #[getter]
    fn _place(&self) -> Option<(String, u32)> {
        let place = self.home.place_of(self.op.id()?.at())?;
        Some((place.file.to_string(), place.line))
    }

    fn colocation_groups(&self) -> PyResult<Vec<Vec<u8>>> {
        self.node(|_, node| node.colocated_with().map(|name| format!("loc:@{name}").into_bytes()).collect())
    }

    fn get_attr(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        match self.node(|_, node| node.attrs.get(name).cloned())? {
            Some(attr) => attrs::to_python(py, &attr),
            None => {
                Err(PyValueError::new_err(format!("Operation '{}' has no attr named '{name}'.", self.name())))
            }
        }
    }

    fn _add_control_input(&self, before: &Bound<'_, Operation>) {
        if let (Some(id), Some(before)) = (self.op.id(), before.get().op.id()) {
            self.op.scope().change(|g| g.add_control(id, before));
        }
    }

    fn __hash__(&self) -> u64 {
        self.key()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Operation>().is_ok_and(|other| {
            let other = other.get();
            self.key() == other.key() && self.op.scope().shares_graph_with(other.op.scope())
        })
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<tf.Operation '{}' type={}>", self.name(), self.r#type()?))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.home.graph)
    }
}
