//! Hooks of training loops: those of `train` by their names in TensorFlow, and hooks of Python.

use crate::args;
use crate::errors::wrong_type;
use crate::fetches::{self, Structure, Wanted};
use crate::home::Home;
use crate::initializers::Settings;
use crate::session::Session;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_client as client;
use thalweg_client::{Code, Error, Output, Result, Tensor};
use thalweg_train::hooks::{
    CheckpointSaverHook, Every, Hook, LoggingHook, RunContext, StepCounterHook, StopAtStepHook,
    SummarySaverHook,
};
use thalweg_train::summary::SharedWriter;

/// What the loop and its hooks share: the graph, the first exception of a hook, and what the running step was asked for.
#[derive(Clone)]
pub struct Shared {
    pub home: Arc<Home>,
    failed: Arc<Mutex<Option<PyErr>>>,
    asked: Arc<Mutex<Option<Py<PyAny>>>>,
}

impl Shared {
    pub fn new(home: Home) -> Shared {
        Shared { home: Arc::new(home), failed: Arc::default(), asked: Arc::default() }
    }

    pub fn fail(&self, e: PyErr) -> Error {
        let text = Python::attach(|py| e.value(py).to_string());
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
        Error::new(Code::Unknown, text)
    }

    /// The exception that stopped the loop instead of the engine's error.
    pub fn exception(&self) -> Option<PyErr> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The arguments of the run, as hooks see them.
    pub fn ask(&self, asked: Option<Py<PyAny>>) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = asked;
    }

    fn asked(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|a| a.clone_ref(py))
    }

    /// Calls a function of the package with the graph of the loop as the default one.
    pub fn call<'py>(
        &self,
        py: Python<'py>,
        function: &str,
        args: Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let hooks = py.import("thalweg.train.hooks")?;
        hooks.getattr("_in_graph")?.call1((self.home.graph.bind(py), hooks.getattr(function)?, args))
    }
}

/// A hook of Python.
struct OfPython {
    hook: Py<PyAny>,
    shared: Shared,
    scope: Option<client::Scope>,
    session: Option<Py<PyAny>>,
    /// The context of this run, and the structure of what the hook fetches.
    running: Option<(Py<PyAny>, Option<Structure>)>,
}

impl OfPython {
    fn session<'py>(&mut self, py: Python<'py>, run: &RunContext<'_>) -> PyResult<Bound<'py, PyAny>> {
        if self.session.is_none() {
            let scope = self.scope.clone().ok_or_else(|| wrong_type("the hook has not begun"))?;
            let session = Session::over(py, run.session.clone(), scope, &self.shared.home);
            self.session = Some(Py::new(py, session)?.into_any());
        }
        match &self.session {
            Some(session) => Ok(session.bind(py).clone()),
            None => Err(wrong_type("no session")),
        }
    }

    /// Calls Python; its exception ends the loop.
    fn python<T>(&mut self, call: impl FnOnce(&mut Self, Python<'_>) -> PyResult<T>) -> Result<T> {
        let shared = self.shared.clone();
        Python::attach(|py| call(self, py)).map_err(|e| shared.fail(e))
    }
}

impl Hook for OfPython {
    fn begin(&mut self, g: &client::Scope) -> Result<()> {
        self.scope = Some(g.clone());
        self.python(|this, py| {
            this.shared.call(py, "_begin", PyTuple::new(py, [this.hook.bind(py)])?).map(drop)
        })
    }

    fn after_create_session(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        self.session = None;
        self.python(|this, py| {
            let session = this.session(py, run)?;
            let args = PyTuple::new(py, [this.hook.bind(py).clone(), session])?;
            this.shared.call(py, "_after_create_session", args).map(drop)
        })
    }

    fn before_run(&mut self, _: i64) -> Vec<Output> {
        let asked = self.python(|this, py| {
            let session = this.session.as_ref().map(|s| s.bind(py).clone());
            let asked = this.shared.asked(py);
            let args = (this.hook.bind(py), session, asked).into_pyobject(py)?;
            let (context, fetches): (Py<PyAny>, Bound<'_, PyAny>) =
                this.shared.call(py, "_before_run", args)?.extract()?;
            let scope = this.scope.clone().ok_or_else(|| wrong_type("the hook has not begun"))?;
            let mut wanted = Wanted::default();
            let structure = match fetches.is_none() {
                true => None,
                false => Some(wanted.add(&scope, &fetches)?),
            };
            if !wanted.operations.is_empty() {
                return Err(wrong_type("a hook's before_run can fetch tensors, not operations"));
            }
            this.running = Some((context, structure));
            Ok(wanted.outputs)
        });
        asked.unwrap_or_default()
    }

    fn after_run(&mut self, run: &mut RunContext<'_>, values: &[Tensor]) -> Result<()> {
        let Some((context, structure)) = self.running.take() else {
            return Err(Error::new(Code::Unknown, "before_run has failed"));
        };
        let values = values.to_vec();
        let stop = self.python(|this, py| {
            let mut values: Vec<_> = values.into_iter().map(Some).collect();
            let results = match structure {
                Some(structure) => fetches::answer(py, structure, &mut values)?,
                None => py.None(),
            };
            let args = (this.hook.bind(py), context, results).into_pyobject(py)?;
            this.shared.call(py, "_after_run", args)?.extract::<bool>()
        })?;
        if stop {
            run.request_stop();
        }
        Ok(())
    }

    fn end(&mut self, run: &mut RunContext<'_>) -> Result<()> {
        self.python(|this, py| {
            let session = this.session(py, run)?;
            let args = PyTuple::new(py, [this.hook.bind(py).clone(), session])?;
            this.shared.call(py, "_end", args).map(drop)
        })
    }
}

fn every(s: &Settings<'_, '_>, steps: &str, seconds: &str) -> PyResult<Option<Every>> {
    if let Some(steps) = s.get::<Option<u64>>(steps, None)? {
        return Ok(Some(Every::Steps(steps)));
    }
    Ok(s.get::<Option<f64>>(seconds, None)?.map(Every::Seconds))
}

/// The hook that an object is: one of the engine, by its name and settings, or one of Python.
pub fn of(obj: &Bound<'_, PyAny>, shared: &Shared) -> PyResult<Box<dyn Hook>> {
    let py = obj.py();
    let Ok(named) = obj.getattr(intern!(py, "_engine_hook")) else {
        let (hook, shared) = (obj.clone().unbind(), shared.clone());
        return Ok(Box::new(OfPython { hook, shared, scope: None, session: None, running: None }));
    };
    let (kind, settings): (String, Bound<'_, PyDict>) = named.call0()?.extract()?;
    let s = Settings(&settings);
    let folder = || s.get::<std::path::PathBuf>("directory", Default::default());
    let writer = || SharedWriter::new(folder()?).map_err(|e| crate::errors::plain(py, e));
    let always = Every::Steps(1);
    Ok(match kind.as_str() {
        "stop_at_step" => match s.get::<Option<u64>>("num_steps", None)? {
            Some(steps) => Box::new(StopAtStepHook::num_steps(steps)),
            None => Box::new(StopAtStepHook::last_step(s.get("last_step", 0)?)),
        },
        "checkpoint_saver" => {
            let every = every(&s, "save_steps", "save_secs")?.unwrap_or(Every::Seconds(600.0));
            Box::new(CheckpointSaverHook::new(folder()?, every))
        }
        "summary_saver" => {
            let every = every(&s, "save_steps", "save_secs")?.unwrap_or(Every::Steps(100));
            Box::new(SummarySaverHook::new(&writer()?, every))
        }
        "step_counter" => {
            let every = every(&s, "every_n_steps", "every_n_secs")?.unwrap_or(Every::Steps(100));
            Box::new(StepCounterHook::new(&writer()?, every))
        }
        "logging" => {
            let tensors: Vec<(String, Bound<'_, PyAny>)> = s.get("tensors", Vec::new())?;
            let tensors: Vec<(String, Output)> =
                tensors.iter().map(|(n, t)| Ok((n.clone(), args::existing(t)?))).collect::<PyResult<_>>()?;
            let every = every(&s, "every_n_iter", "every_n_secs")?.unwrap_or(always);
            Box::new(LoggingHook::new(tensors.iter().map(|(n, t)| (n.as_str(), t)), every))
        }
        other => return Err(wrong_type(format!("no hook '{other}'"))),
    })
}

/// The hooks of a list.
pub fn all(py: Python<'_>, list: &[Py<PyAny>], shared: &Shared) -> PyResult<Vec<Box<dyn Hook>>> {
    list.iter().map(|hook| of(hook.bind(py), shared)).collect()
}
