//! Datasets of elements that a function of Python generates.

use crate::attrs::shape_of;
use crate::dtype;
use crate::scope::Scope;
use crate::tensor::Tensor;
use crate::values;
use pyo3::prelude::*;
use thalweg_client::data::Dataset;
use thalweg_client::{Code, DataType, Error, PartialShape, Result};

/// A source of elements: `begin` returns a function that returns the parts of the next element, or None after the last.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct Generated {
    begin: Py<PyAny>,
    elements: Vec<(DataType, PartialShape)>,
}

fn failed(py: Python<'_>, e: &PyErr) -> Error {
    let class = e.get_type(py).name().map(|n| n.to_string()).unwrap_or_default();
    Error::new(Code::Unknown, format!("the generator of a dataset raised {class}: {}", e.value(py)))
}

/// The next element of a generator.
fn next(following: &PyResult<Py<PyAny>>, types: &[DataType]) -> Result<Option<Vec<thalweg_client::Tensor>>> {
    Python::attach(|py| {
        let following = following.as_ref().map_err(|e| failed(py, e))?;
        let found = following.bind(py).call0().map_err(|e| failed(py, &e))?;
        if found.is_none() {
            return Ok(None);
        }
        let parts: Vec<Bound<'_, PyAny>> = found.extract().map_err(|e| failed(py, &e))?;
        let tensors = parts.iter().zip(types).map(|(part, t)| values::tensor_of(part, Some(*t)));
        tensors.collect::<PyResult<Vec<_>>>().map(Some).map_err(|e| failed(py, &e))
    })
}

#[pymethods]
impl Generated {
    #[new]
    fn new(begin: Py<PyAny>, components: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>) -> PyResult<Generated> {
        let elements = components.iter().map(|(t, s)| Ok((dtype::from_python(t)?, shape_of(s)?)));
        Ok(Generated { begin, elements: elements.collect::<PyResult<_>>()? })
    }

    /// The nodes of the dataset.
    fn make(&self, scope: &Bound<'_, Scope>) -> PyResult<Py<Tensor>> {
        let py = scope.py();
        let begin = self.begin.clone_ref(py);
        let types: Vec<DataType> = self.elements.iter().map(|(t, _)| *t).collect();
        scope.get().tensor(py, |g| {
            let dataset = Dataset::from_fn(g, &self.elements, move || {
                let following = Python::attach(|py| begin.call0(py));
                let types = types.clone();
                move || next(&following, &types)
            });
            Ok(dataset.build(g))
        })
    }
}
