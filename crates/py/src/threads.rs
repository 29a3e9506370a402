//! `Coordinator` and `QueueRunner` of `train`: threads of the engine that fill queues.

use crate::args;
use crate::errors::{OrRaise, plain, raise};
use crate::home::Home;
use crate::scope::Scope;
use crate::session::Session;
use pyo3::prelude::*;
use thalweg_client as client;
use thalweg_client::{Code, Error};
use thalweg_train as train;

/// Asks threads to stop, and waits for them.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct Coordinator(train::Coordinator);

#[pymethods]
impl Coordinator {
    #[new]
    fn new() -> Coordinator {
        Coordinator(train::Coordinator::new())
    }

    fn should_stop(&self) -> bool {
        self.0.should_stop()
    }

    /// With a message, the stop is an error, which `join` raises.
    #[pyo3(signature = (failed=None))]
    fn request_stop(&self, failed: Option<String>) {
        match failed {
            Some(text) => self.0.request_stop_with(Error::new(Code::Unknown, text)),
            None => self.0.request_stop(),
        }
    }

    /// Whether a stop is requested within this time, in seconds.
    fn wait_for_stop(&self, py: Python<'_>) {
        py.detach(|| self.0.wait_for_stop());
    }

    fn join(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.join()).or_raise(py)
    }
}

/// A queue, and operations that fill it.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct QueueRunner {
    runner: train::QueueRunner,
    threads: usize,
    scope: client::Scope,
    home: Home,
}

#[pymethods]
impl QueueRunner {
    #[new]
    fn new(
        scope: &Bound<'_, Scope>,
        queue: &Bound<'_, PyAny>,
        enqueue: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<QueueRunner> {
        let (py, at) = (scope.py(), scope.get());
        let queue = args::existing(queue)?;
        let enqueue = enqueue.iter().map(args::operation_of).collect::<PyResult<Vec<_>>>()?;
        let threads = enqueue.len();
        let runner = at.build(py, |g| Ok(train::QueueRunner::new(g, &queue, enqueue)))?;
        Ok(QueueRunner { runner, threads, scope: at.scope.clone(), home: at.home.share(py) })
    }

    #[getter]
    fn name(&self) -> &str {
        self.runner.name()
    }

    /// How many threads it starts.
    #[getter]
    fn threads(&self) -> usize {
        self.threads
    }

    fn start(&self, session: &Bound<'_, Session>, coordinator: &Bound<'_, Coordinator>) -> PyResult<()> {
        let (py, session) = (session.py(), session.get().session.clone());
        let coordinator = coordinator.get().0.clone();
        let started = py.detach(|| self.runner.start(&session, &coordinator));
        started.map_err(|e| match e.node() {
            Some(_) => raise(py, &self.home, &self.scope, e),
            None => plain(py, e),
        })
    }
}
