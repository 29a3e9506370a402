//! Event files and summaries for TensorBoard.

use crate::args;
use crate::errors::{OrRaise, wrong_type};
use crate::scope::Scope;
use crate::session::Session;
use crate::tensor::Tensor;
use crate::values;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use thalweg_client as client;
use thalweg_train::summary as train;

/// Writes an event file.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct FileWriter(Mutex<train::FileWriter>);

impl FileWriter {
    fn with<T>(
        &self,
        py: Python<'_>,
        write: impl FnOnce(&mut train::FileWriter) -> client::Result<T>,
    ) -> PyResult<T> {
        write(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)).or_raise(py)
    }
}

#[pymethods]
impl FileWriter {
    #[new]
    #[pyo3(signature = (logdir, suffix=""))]
    fn new(py: Python<'_>, logdir: PathBuf, suffix: &str) -> PyResult<FileWriter> {
        Ok(FileWriter(Mutex::new(train::FileWriter::with_suffix(logdir, suffix).or_raise(py)?)))
    }

    #[getter]
    fn path(&self, py: Python<'_>) -> PyResult<PathBuf> {
        self.with(py, |w| Ok(w.path().to_path_buf()))
    }

    /// A serialised Summary: what a session returns for a summary op.
    fn add_summary(&self, py: Python<'_>, summary: &Bound<'_, PyAny>, step: i64) -> PyResult<()> {
        let summary = values::tensor_of(summary, None)?;
        self.with(py, |w| w.add_summary(&summary, step))
    }

    fn add_scalar(&self, py: Python<'_>, tag: &str, value: f32, step: i64) -> PyResult<()> {
        self.with(py, |w| w.add_scalar(tag, value, step))
    }

    fn add_graph(&self, scope: &Bound<'_, Scope>) -> PyResult<()> {
        self.with(scope.py(), |w| w.add_graph(&scope.get().scope))
    }

    fn add_session_graph(&self, session: &Bound<'_, Session>) -> PyResult<()> {
        self.with(session.py(), |w| w.add_session_graph(&session.get().session))
    }

    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, train::FileWriter::flush)
    }
}

/// A summary op of a kind, which joins the collection of summaries.
#[pyfunction]
#[pyo3(signature = (scope, kind, name, value, most=3, rate=44100.0))]
fn summary(
    scope: &Bound<'_, Scope>,
    kind: &str,
    name: &str,
    value: &Bound<'_, PyAny>,
    most: usize,
    rate: f32,
) -> PyResult<Py<Tensor>> {
    scope.get().tensor(scope.py(), |g| {
        let value = args::output_of(g, value, None, "values")?;
        Ok(match kind {
            "scalar" => train::scalar(g, name, &value),
            "histogram" => train::histogram(g, name, &value),
            "image" => train::image(g, name, &value, most),
            "audio" => train::audio(g, name, &value, rate, most),
            "text" => train::text(g, name, &value),
            other => return Err(wrong_type(format!("no summary '{other}'"))),
        })
    })
}

/// All summaries of the graph as one; None if there are none.
#[pyfunction]
fn merge_all_summaries(scope: &Bound<'_, Scope>) -> PyResult<Option<Py<Tensor>>> {
    let (py, scope) = (scope.py(), scope.get());
    let merged = scope.build(py, |g| Ok(train::merge_all(g)))?;
    merged.map(|o| Tensor::new(py, o, &scope.home)).transpose()
}

pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(summary, m)?)?;
    m.add_function(wrap_pyfunction!(merge_all_summaries, m)?)
}
