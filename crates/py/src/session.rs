//! `Session`: runs the graph of a scope, in this process or on a server.

use crate::errors::{OrRaise, raise, wrong_type};
use crate::fetches::{self, Structure, Wanted};
use crate::home::Home;
use crate::interrupts::{self, Prepare, Runner};
use crate::scope::Scope;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thalweg_client as client;
use thalweg_client::{Callable, Output, RunOptions, SessionOptions};
use thalweg_proto::ConfigProto;

/// Callables kept for one session.
const MOST_KNOWN: usize = 512;

/// A session, which `tf.Session` extends.
#[pyclass(frozen, weakref, dict, subclass, module = "thalweg._engine")]
pub struct Session {
    pub session: Arc<client::Session>,
    scope: client::Scope,
    pub home: Home,
    /// By the ids of feeds, fetches and targets.
    known: Mutex<HashMap<Vec<u64>, Arc<Callable>>>,
    runner: Runner,
    /// Time limit of runs that set none.
    time_limit: Option<Duration>,
    forks: u64,
}

fn settings(config: &Bound<'_, PyDict>) -> PyResult<(SessionOptions, ConfigProto)> {
    let (mut options, mut proto) = (SessionOptions::default(), ConfigProto::default());
    for (key, value) in config.iter() {
        match key.extract::<String>()?.as_str() {
            "threads" => {
                options.threads = value.extract()?;
                proto.intra_op_parallelism_threads = value.extract()?;
            }
            "soft_placement" => {
                options.soft_placement = value.extract()?;
                proto.allow_soft_placement = options.soft_placement;
            }
            "log_device_placement" => {
                options.log_device_placement = value.extract()?;
                proto.log_device_placement = options.log_device_placement;
            }
            "timeout_in_ms" => {
                proto.operation_timeout_in_ms = value.extract()?;
                options.operation_timeout = Some(Duration::from_millis(value.extract()?));
            }
            "cpu_devices" => {
                options.cpu_devices = value.extract()?;
                proto.device_count.insert("CPU".into(), value.extract()?);
            }
            "device_filters" => proto.device_filters = value.extract()?,
            "optimise" => options.optimise = value.extract()?,
            other => return Err(wrong_type(format!("no setting '{other}'"))),
        }
    }
    Ok((options, proto))
}

fn id_of(output: &Output) -> u64 {
    output.id().map_or(u64::MAX, |id| ((id.node.at() as u64) << 32) | u64::from(id.index))
}

impl Session {
    /// An open session of the engine, for Python.
    pub fn over(py: Python<'_>, session: Arc<client::Session>, scope: client::Scope, home: &Home) -> Session {
        let (known, runner) = (Mutex::default(), Runner::default());
        let (home, forks) = (home.share(py), interrupts::forks());
        Session { session, scope, home, known, runner, time_limit: None, forks }
    }

    /// Feeds, fetches and targets as one key; `None` if something is of another graph, which the engine explains.
    fn key(&self, feeds: &[Output], wanted: &Wanted) -> Option<Vec<u64>> {
        let ours = |scope: &client::Scope| scope.shares_graph_with(&self.scope);
        let all = feeds.iter().chain(&wanted.outputs).all(|o| ours(o.scope()))
            && wanted.operations.iter().all(|op| ours(op.scope()));
        all.then(|| {
            let mut key =
                Vec::with_capacity(2 + feeds.len() + wanted.outputs.len() + wanted.operations.len());
            key.extend([feeds.len() as u64, wanted.outputs.len() as u64]);
            key.extend(feeds.iter().chain(&wanted.outputs).map(id_of));
            key.extend(wanted.operations.iter().map(|op| op.id().map_or(u64::MAX, |id| id.at() as u64)));
            key
        })
    }

    fn known(&self, key: &[u64]) -> Option<Arc<Callable>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn remember(&self, key: Vec<u64>, callable: Arc<Callable>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(key, callable);
    }

    /// Runs one step.
    fn step(
        &self,
        py: Python<'_>,
        (feeds, values): (Vec<Output>, Vec<client::Tensor>),
        wanted: Wanted,
        mut options: RunOptions,
    ) -> PyResult<(Vec<client::Tensor>, client::RunMetadata)> {
        let fail = |e: client::Error| raise(py, &self.home, &self.scope, e);
        interrupts::check_fork(self.forks).map_err(fail)?;
        let key = self.key(&feeds, &wanted);
        let known = key.as_ref().and_then(|key| self.known(key));
        let is_new = known.is_none();
        let made: Arc<Mutex<Option<Arc<Callable>>>> = Arc::default();
        let (session, keep) = (self.session.clone(), made.clone());
        let prepare: Prepare = Box::new(move |_| {
            let feeds: Vec<&Output> = feeds.iter().collect();
            let callable = Arc::new(session.callable(&feeds, &(wanted.outputs, wanted.operations))?);
            *keep.lock().unwrap_or_else(PoisonError::into_inner) = Some(callable.clone());
            Ok(callable)
        });
        options.timeout = options.timeout.or(self.time_limit);
        let result = interrupts::run(py, &self.runner, known, prepare, values, options)?;
        if is_new
            && let Some(key) = key
            && let Some(callable) = made.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            self.remember(key, callable);
        }
        result.map_err(fail)
    }
}

fn run_options(options: Option<&Bound<'_, PyAny>>) -> PyResult<RunOptions> {
    let mut found = RunOptions::default();
    let Some(options) = options.filter(|o| !o.is_none()) else { return Ok(found) };
    let timeout: i64 = options.getattr("timeout_in_ms")?.extract()?;
    found.timeout = u64::try_from(timeout).ok().filter(|ms| *ms > 0).map(Duration::from_millis);
    found.trace = options.getattr("trace_level")?.extract::<i64>()? > 0;
    Ok(found)
}

#[pymethods]
impl Session {
    /// A session on the graph of a scope: in this process if the target is empty.
    #[new]
    #[pyo3(signature = (scope, target="", config=None))]
    fn new(scope: &Bound<'_, Scope>, target: &str, config: Option<&Bound<'_, PyDict>>) -> PyResult<Session> {
        let (py, at) = (scope.py(), scope.get());
        let (options, proto) = config.map(settings).transpose()?.unwrap_or_default();
        let (scope, time_limit) = (at.scope.root(), options.operation_timeout);
        let opened = py.detach(|| match target {
            "" => client::Session::with_options(&scope, options),
            target => client::Session::connect_with(target, &scope, proto),
        });
        let session = Arc::new(opened.map_err(|e| raise(py, &at.home, &scope, e))?);
        let (known, runner) = (Mutex::default(), Runner::default());
        let (home, forks) = (at.home.share(py), interrupts::forks());
        Ok(Session { session, scope, home, known, runner, time_limit, forks })
    }

    /// Runs one step: computes the fetches, which may be nested in lists, tuples and dicts, with values for the feeds.
    #[pyo3(signature = (fetches, feed_dict=None, options=None, run_metadata=None))]
    fn run(
        &self,
        py: Python<'_>,
        fetches: &Bound<'_, PyAny>,
        feed_dict: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyAny>>,
        run_metadata: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let mut wanted = Wanted::default();
        let structure: Structure = wanted.add(&self.scope, fetches)?;
        let feeds = match feed_dict.filter(|f| !f.is_none()) {
            Some(feeds) => fetches::feeds(&self.scope, feeds)?,
            None => Default::default(),
        };
        let (values, metadata) = self.step(py, feeds, wanted, run_options(options)?)?;
        if let Some(to) = run_metadata.filter(|m| !m.is_none()) {
            let bytes = thalweg_proto::encode(&self.session.metadata_message(&metadata));
            to.call_method1(intern!(py, "ParseFromString"), (pyo3::types::PyBytes::new(py, &bytes),))?;
        }
        let mut values: Vec<_> = values.into_iter().map(Some).collect();
        fetches::answer(py, structure, &mut values)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let session = self.session.clone();
        py.detach(move || session.close()).or_raise(py)
    }

    /// Names of the devices.
    fn _devices(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let session = self.session.clone();
        py.detach(move || session.devices()).or_raise(py)
    }

    #[getter]
    fn graph(&self, py: Python<'_>) -> Py<PyAny> {
        self.home.graph.clone_ref(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.home.graph)
    }
}
