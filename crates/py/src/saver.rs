//! `Saver`: variables to and from checkpoints.

use crate::errors::{OrRaise, raise};
use crate::home::Home;
use crate::scope::Scope;
use crate::session::Session;
use crate::variables;
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use std::path::{Path, PathBuf};
use thalweg_client as client;
use thalweg_train::saver as train;

/// Saves and restores variables.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct Saver {
    saver: train::Saver,
    scope: client::Scope,
    home: Home,
}

#[pymethods]
impl Saver {
    /// Of these variables, each under a name in the checkpoint; of all but local ones if none are given.
    #[new]
    #[pyo3(signature = (scope, variables=None, max_to_keep=5, keep_every_n_hours=10000.0, write_meta_graph=true))]
    fn new(
        scope: &Bound<'_, Scope>,
        variables: Option<Vec<(String, Bound<'_, PyAny>)>>,
        max_to_keep: usize,
        keep_every_n_hours: f64,
        write_meta_graph: bool,
    ) -> PyResult<Saver> {
        let (py, scope) = (scope.py(), scope.get());
        let variables = variables.map(|list| {
            list.iter().map(|(name, v)| Ok((name.clone(), variables::of(v)?))).collect::<PyResult<Vec<_>>>()
        });
        let variables = variables.transpose()?;
        let saver = scope.build(py, |g| {
            Ok(match variables {
                Some(variables) => train::Saver::of(g, variables),
                None => train::Saver::new(g),
            })
        })?;
        let saver = saver.max_to_keep(max_to_keep).keep_checkpoint_every_n_hours(keep_every_n_hours);
        let saver = saver.write_meta_graph(write_meta_graph);
        Ok(Saver { saver, scope: scope.scope.clone(), home: scope.home.share(py) })
    }

    #[pyo3(signature = (session, path, global_step=None))]
    fn save(
        &self,
        session: &Bound<'_, Session>,
        path: PathBuf,
        global_step: Option<i64>,
    ) -> PyResult<PathBuf> {
        let (py, session) = (session.py(), session.get().session.clone());
        let saved = py.detach(|| self.saver.save(&session, &path, global_step));
        saved.map_err(|e| raise(py, &self.home, &self.scope, e))
    }

    fn restore(&self, session: &Bound<'_, Session>, path: PathBuf) -> PyResult<()> {
        let (py, session) = (session.py(), session.get().session.clone());
        let restored = py.detach(|| self.saver.restore(&session, &path));
        restored.map_err(|e| raise(py, &self.home, &self.scope, e))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.home.graph)
    }
}

/// The newest complete checkpoint of a directory.
#[pyfunction]
pub fn latest_checkpoint(py: Python<'_>, directory: PathBuf) -> PyResult<Option<PathBuf>> {
    train::latest_checkpoint(Path::new(&directory)).or_raise(py)
}
