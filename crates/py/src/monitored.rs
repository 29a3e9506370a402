//! `MonitoredSession` of `train`. It lives on a thread of its own: hooks and creators need not be of any thread, and the thread of Python that
//! waits for a step can be interrupted.

use crate::errors::{plain, raise};
use crate::fetches::{self, Wanted};
use crate::hooks::{self, Shared};
use crate::initializers::Settings;
use crate::scope::Scope;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;
use thalweg_client as client;
use thalweg_client::{Cancellation, Code, Error, Feed, Result, feed};
use thalweg_proto::ConfigProto;
use thalweg_train::hooks::{Hook, RunContext};
use thalweg_train::monitored::{ChiefSessionCreator, MonitoredSession, SessionCreator, WorkerSessionCreator};

/// How often the waiting thread asks for signals.
const ASK_EVERY: Duration = Duration::from_millis(50);

type Job = Box<dyn FnOnce(&mut Option<MonitoredSession<'static>>) + Send>;

/// Notes the current session, and what cancels its run.
struct Watch(Arc<Mutex<Option<Current>>>);

#[derive(Clone)]
struct Current {
    session: Arc<client::Session>,
    interrupt: Arc<Cancellation>,
}

impl Hook for Watch {
    fn after_create_session(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        let current = Current { session: run.session.clone(), interrupt: run.interrupt.clone() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(current);
        Ok(())
    }
}

/// A session with hooks, which recovers when other tasks are lost.
#[pyclass(frozen, weakref, module = "thalweg._engine")]
pub struct Monitored {
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    scope: client::Scope,
    shared: Shared,
    current: Arc<Mutex<Option<Current>>>,
    stop: Arc<AtomicBool>,
}

fn lost() -> PyErr {
    PyRuntimeError::new_err("Session is closed.")
}

/// Waits for an answer, and lets signals in.
fn wait<T: Send>(py: Python<'_>, answers: mpsc::Receiver<T>, interrupted: impl Fn()) -> PyResult<T> {
    let answers = Mutex::new(answers);
    loop {
        let answer =
            py.detach(|| answers.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(ASK_EVERY));
        match answer {
            Ok(answer) => return Ok(answer),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(lost()),
            Err(mpsc::RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| interrupted())?,
        }
    }
}

/// Who opens the session.
fn creator(s: &Settings<'_, '_>) -> PyResult<Box<dyn FnOnce() -> Box<dyn SessionCreator> + Send>> {
    let master: String = s.get("master", String::new())?;
    let directory: Option<PathBuf> = s.get("checkpoint_dir", None)?;
    let config = ConfigProto { device_filters: s.get("device_filters", Vec::new())?, ..Default::default() };
    if !s.get("is_chief", true)? {
        return Ok(Box::new(move || Box::new(WorkerSessionCreator::new(&master).config(config).log(|_| {}))));
    }
    Ok(Box::new(move || {
        let creator = ChiefSessionCreator::new().config(config);
        let creator = if master.is_empty() { creator } else { creator.target(&master) };
        match directory {
            Some(directory) => Box::new(creator.checkpoint_dir(directory)),
            None => Box::new(creator),
        }
    }))
}

impl Monitored {
    /// Has a job done by the thread of the session.
    fn have<T: Send + 'static>(
        &self,
        py: Python<'_>,
        job: impl FnOnce(&mut Option<MonitoredSession<'static>>) -> T + Send + 'static,
    ) -> PyResult<T> {
        let (answer, answers) = mpsc::channel();
        let job: Job = Box::new(move |session| drop(answer.send(job(session))));
        let sent = match &*self.jobs.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(jobs) => jobs.send(job).map_err(|_| lost()),
            None => Err(lost()),
        };
        sent?;
        wait(py, answers, || {
            if let Some(current) = &*self.current.lock().unwrap_or_else(PoisonError::into_inner) {
                current.interrupt.cancel(Error::new(Code::Cancelled, "the step was interrupted"));
            }
        })
    }

    fn raised(&self, py: Python<'_>, e: Error) -> PyErr {
        self.shared.exception().unwrap_or_else(|| raise(py, &self.shared.home, &self.scope, e))
    }
}

#[pymethods]
impl Monitored {
    #[new]
    fn new(
        scope: &Bound<'_, Scope>,
        hooks: Vec<Py<PyAny>>,
        settings: &Bound<'_, PyDict>,
    ) -> PyResult<Monitored> {
        let (py, at) = (scope.py(), scope.get());
        let creator = creator(&Settings(settings))?;
        let shared = Shared::new(at.home.share(py));
        let (stop, current) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let made = Monitored {
            jobs: Mutex::default(),
            scope: at.scope.clone(),
            shared: shared.clone(),
            current,
            stop,
        };
        let (jobs, todo) = mpsc::channel::<Job>();
        let (answer, answers) = mpsc::channel::<Result<()>>();
        let (g, watch) = (at.scope.root(), Watch(made.current.clone()));
        let first = crate::home::nodes(&at.scope);
        let run = move || {
            let opened = Python::attach(|py| hooks::all(py, &hooks, &shared).map_err(|e| shared.fail(e)));
            let opened = opened.and_then(|all| {
                let all = std::iter::once(Box::new(watch) as Box<dyn Hook>).chain(all).collect();
                MonitoredSession::new(&g, creator(), all)
            });
            Python::attach(|_| drop(hooks));
            let mut session = match opened {
                Ok(session) => Some(session),
                Err(e) => return drop(answer.send(Err(e))),
            };
            if answer.send(Ok(())).is_ok() {
                todo.into_iter().for_each(|job| job(&mut session));
            }
        };
        let spawned = std::thread::Builder::new().name("thalweg-monitored".into()).spawn(run);
        spawned.map_err(|e| plain(py, e.into()))?;
        let opened = wait(py, answers, || {});
        at.home.note(py, first, crate::home::nodes(&at.scope));
        let graph_error = at.scope.take_error();
        opened?.map_err(|e| made.raised(py, graph_error.unwrap_or(e)))?;
        *made.jobs.lock().unwrap_or_else(PoisonError::into_inner) = Some(jobs);
        Ok(made)
    }

    /// One step with the hooks around it; None if the loop has ended.
    #[pyo3(signature = (fetches, feed_dict=None))]
    fn run(
        &self,
        py: Python<'_>,
        fetches: &Bound<'_, PyAny>,
        feed_dict: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<(Py<PyAny>,)>> {
        let mut wanted = Wanted::default();
        let structure = wanted.add(&self.scope, fetches)?;
        let (outputs, values) = match feed_dict.filter(|f| !f.is_none()) {
            Some(feeds) => fetches::feeds(&self.scope, feeds)?,
            None => Default::default(),
        };
        let feeds: Vec<Feed> = outputs.iter().zip(values).map(|(o, v)| feed(o, v)).collect();
        let asked = (fetches, feed_dict).into_pyobject(py)?.into_any().unbind();
        self.shared.ask(Some(asked));
        let stop = self.stop.clone();
        let found = self.have(py, move |session| {
            let Some(session) = session else {
                return Err(Error::new(Code::FailedPrecondition, "Session is closed."));
            };
            let found = session.run(&(wanted.outputs, wanted.operations), &feeds);
            stop.store(session.should_stop(), Ordering::Release);
            found
        })?;
        match found.map_err(|e| self.raised(py, e))? {
            Some((values, _)) => {
                let mut values: Vec<_> = values.into_iter().map(Some).collect();
                Ok(Some((fetches::answer(py, structure, &mut values)?,)))
            }
            None => Ok(None),
        }
    }

    fn should_stop(&self) -> bool {
        self.stop.load(Ordering::Acquire)
            || self.jobs.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// The session that runs are made in now.
    fn session(&self, py: Python<'_>) -> PyResult<Py<crate::session::Session>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let current = current.ok_or_else(lost)?;
        Py::new(py, crate::session::Session::over(py, current.session, self.scope.clone(), &self.shared.home))
    }

    /// Ends the loop: hooks do their last work, unless it has failed.
    fn close(&self, py: Python<'_>, failed: bool) -> PyResult<()> {
        if self.jobs.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            return Ok(());
        }
        let closed = self.have(py, move |session| match session.take() {
            Some(session) if !failed => session.close(),
            _ => Ok(()),
        })?;
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        closed.map_err(|e| self.raised(py, e))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.shared.home.graph)
    }
}
