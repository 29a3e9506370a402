//! Reading checkpoints without a graph.

use crate::dtype::{self, DType};
use crate::errors::OrRaise;
use crate::values;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use thalweg_io::bundle::BundleReader;
use thalweg_io::checkpoint::State;

/// The tensors of a checkpoint.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct CheckpointReader(Mutex<BundleReader>);

#[pymethods]
impl CheckpointReader {
    #[new]
    fn new(py: Python<'_>, prefix: PathBuf) -> PyResult<CheckpointReader> {
        Ok(CheckpointReader(Mutex::new(BundleReader::open(&prefix).or_raise(py)?)))
    }

    fn has_tensor(&self, name: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    /// Name, type and sizes of each tensor.
    fn entries(&self, py: Python<'_>) -> PyResult<Vec<(String, Py<DType>, Vec<usize>)>> {
        let reader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = |name: String| {
            let entry = reader.entry(&name).or_raise(py)?;
            Ok((name, dtype::object(py, entry.dtype)?, entry.shape.dims().to_vec()))
        };
        reader.names().map(entry).collect()
    }

    fn get_tensor(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let tensor = self.0.lock().unwrap_or_else(PoisonError::into_inner).read(name).or_raise(py)?;
        values::to_python(py, tensor)
    }
}

/// The prefixes of the checkpoints of a directory, oldest first.
#[pyfunction]
pub fn checkpoints(py: Python<'_>, directory: PathBuf) -> PyResult<Vec<PathBuf>> {
    let state = State::read(Path::new(&directory)).or_raise(py)?;
    Ok(state.map(|s| s.all).unwrap_or_default())
}
