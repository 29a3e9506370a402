//! One step: values in, plans of all devices run together, values out.

use super::compile::{Compiled, CompiledPart};
use super::{Callable, Inner, RunMetadata, RunOptions, Session};
use crate::executor::{Run, RunInput};
use crate::trace::Tracer;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Code, Error, Result, internal};
use thalweg_core::invalid;
use thalweg_core::rendezvous::{LocalRendezvous, Rendezvous};
use thalweg_core::resource::lock;
use thalweg_core::step::{StepContext, Trace};
use thalweg_core::tensor::Tensor;

/// What becomes of a step that was started.
pub type OnDone = Box<dyn FnOnce(Result<(Vec<Tensor>, RunMetadata)>) + Send>;

impl Session {
    /// Runs by tensor and node names: `session.run(&[("x:0", x)], &["y:0"], &[])`.
    pub fn run(&self, feeds: &[(&str, Tensor)], fetches: &[&str], targets: &[&str]) -> Result<Vec<Tensor>> {
        self.run_with(feeds, fetches, targets, &RunOptions::default()).map(|r| r.0)
    }

    pub fn run_with(
        &self,
        feeds: &[(&str, Tensor)],
        fetches: &[&str],
        targets: &[&str],
        options: &RunOptions,
    ) -> Result<(Vec<Tensor>, RunMetadata)> {
        self.inner.check_open()?;
        let names: Vec<&str> = feeds.iter().map(|f| f.0).collect();
        let signature = self.signature(&names, fetches, targets)?;
        let compiled = self.inner.compiled(&signature)?;
        let callable = Callable { inner: self.inner.clone(), compiled };
        callable.run_with(feeds.iter().map(|f| f.1.clone()).collect(), options)
    }
}

impl Inner {
    /// Runs a step and waits for its end.
    pub fn run(
        &self,
        compiled: &Compiled,
        feeds: Vec<Tensor>,
        options: &RunOptions,
    ) -> Result<(Vec<Tensor>, RunMetadata)> {
        let step = self.begin(compiled, &feeds, options)?;
        let results = match compiled.parts.as_slice() {
            [part] => Run::wait(&part.plan, step.input(self, compiled, part, feeds)),
            _ => self.run_parts(&step, compiled, feeds),
        };
        self.end(&step);
        Ok((results.map_err(|e| step.cause(e))?, self.metadata(compiled, &step)))
    }

    /// Starts a step; see [`Callable::start`].
    pub fn start(
        self: &Arc<Self>,
        compiled: &Arc<Compiled>,
        feeds: Vec<Tensor>,
        options: &RunOptions,
        rendezvous: Option<Arc<LocalRendezvous>>,
        done: OnDone,
    ) {
        let step = match self.begin(compiled, &feeds, options) {
            Ok(step) if rendezvous.is_some() => Step { rendezvous, ..step }.meeting(),
            Ok(step) => step,
            Err(e) => return done(Err(e)),
        };
        let (inner, kept, ended) = (self.clone(), compiled.clone(), step.clone());
        let finish = Box::new(move |results: Result<Vec<Tensor>>| {
            inner.end(&ended);
            let results = results.map_err(|e| ended.cause(e));
            done(results.map(|values| (values, inner.metadata(&kept, &ended))));
        });
        match compiled.parts.as_slice() {
            [part] => Run::start_here(&part.plan, step.input(self, compiled, part, feeds), finish),
            _ => self.start_parts(&step, compiled, feeds, finish),
        }
    }

    /// Checks what is fed, and puts the step on the list of those that closing the session cancels.
    fn begin(&self, compiled: &Compiled, feeds: &[Tensor], options: &RunOptions) -> Result<Step> {
        if feeds.len() != compiled.feeds.len() {
            return Err(invalid!("takes {} feeds, got {}", compiled.feeds.len(), feeds.len()));
        }
        for (info, value) in compiled.feeds.iter().zip(feeds) {
            info.check(value)?;
        }
        let deadline = match options.timeout.or(self.options.operation_timeout) {
            Some(t) => {
                Some(Instant::now().checked_add(t).ok_or_else(|| invalid!("the time limit is too large"))?)
            }
            None => None,
        };
        let step = Step {
            id: self.next_step.fetch_add(1, Ordering::Relaxed),
            cancel: options.cancel.clone().unwrap_or_default(),
            deadline,
            trace: options.trace.then(|| Arc::new(Tracer::new())),
            serial: options.serial,
            rendezvous: None,
        };
        lock(&self.running).insert(step.id, step.cancel.clone());
        // Looked at after the step is on the list, so that a close at this moment does not miss it.
        self.check_open().inspect_err(|_| self.end(&step))?;
        Ok(step)
    }

    fn end(&self, step: &Step) {
        lock(&self.running).remove(&step.id);
    }

    fn metadata(&self, compiled: &Compiled, step: &Step) -> RunMetadata {
        let mut metadata = RunMetadata::default();
        if let Some(trace) = &step.trace {
            metadata.timings = trace.timings();
            let name = |p: &CompiledPart| (self.devices[p.device as usize].name().to_string(), p.plan.len());
            metadata.planned_nodes = compiled.parts.iter().map(name).collect();
        }
        metadata
    }

    /// Several devices: all but the first part run on the pool, and they meet in one rendezvous.
    fn run_parts(&self, step: &Step, compiled: &Compiled, feeds: Vec<Tensor>) -> Result<Vec<Tensor>> {
        let Some((first, others)) = compiled.parts.split_first() else { return Ok(Vec::new()) };
        let step = step.meeting();
        let (tx, rx) = mpsc::channel();
        for part in others {
            let (tx, fetches) = (tx.clone(), part.fetches.clone());
            let input = step.input(self, compiled, part, feeds.clone());
            Run::start(part.plan.clone(), input, Box::new(move |r| drop(tx.send((fetches, r)))));
        }
        let mut gathered = Gathered::new(compiled);
        gathered.add(&first.fetches, Run::wait(&first.plan, step.input(self, compiled, first, feeds)));
        for _ in others {
            let (fetches, r) = rx.recv().map_err(|_| internal("a part of the step never ended"))?;
            gathered.add(&fetches, r);
        }
        gathered.results()
    }

    /// As `run_parts`, with all parts on the pool.
    fn start_parts(
        &self,
        step: &Step,
        compiled: &Compiled,
        feeds: Vec<Tensor>,
        finish: Box<dyn FnOnce(Result<Vec<Tensor>>) + Send>,
    ) {
        let step = step.meeting();
        let gathered = Arc::new(Mutex::new(Some((Gathered::new(compiled), finish))));
        for part in &compiled.parts {
            let (gathered, fetches) = (gathered.clone(), part.fetches.clone());
            let input = step.input(self, compiled, part, feeds.clone());
            let part_done = Box::new(move |r| {
                let last = {
                    let mut place = lock(&gathered);
                    let Some((all, _)) = place.as_mut() else { return };
                    all.add(&fetches, r);
                    if all.missing > 0 {
                        return;
                    }
                    place.take()
                };
                if let Some((all, finish)) = last {
                    finish(all.results());
                }
            });
            Run::start(part.plan.clone(), input, part_done);
        }
    }
}

/// What the parts of one step share.
#[derive(Clone)]
struct Step {
    id: u64,
    cancel: Arc<Cancellation>,
    deadline: Option<Instant>,
    trace: Option<Arc<Tracer>>,
    serial: bool,
    /// Where the parts meet, and the client of a partial run with them; one of its own if not set.
    rendezvous: Option<Arc<LocalRendezvous>>,
}

impl Step {
    /// Why the step ended: a kernel that was cancelled only knows that it was.
    fn cause(&self, e: Error) -> Error {
        match self.cancel.reason() {
            Some(reason) if e.code() == Code::Cancelled && !reason.is_derived() => reason,
            _ => e,
        }
    }

    /// With a rendezvous, which a cancellation ends.
    fn meeting(&self) -> Step {
        let rendezvous = self.rendezvous.clone().unwrap_or_default();
        let waiting = rendezvous.clone();
        self.cancel.on_cancel(move |e| waiting.abort(e.clone()));
        Step { rendezvous: Some(rendezvous), ..self.clone() }
    }

    fn input(&self, inner: &Inner, compiled: &Compiled, part: &CompiledPart, feeds: Vec<Tensor>) -> RunInput {
        let mut step = StepContext::new(self.id, inner.devices[part.device as usize].context.clone());
        step.cancel = self.cancel.clone();
        step.functions = Some(compiled.functions.clone());
        step.deadline = self.deadline;
        step.serial = self.serial;
        step.trace = self.trace.clone().map(|t| t as Arc<dyn Trace>);
        if let Some(rendezvous) = &self.rendezvous {
            step.rendezvous = rendezvous.clone();
        }
        RunInput { feeds, step: Arc::new(step) }
    }
}

/// Results of parts, as they come in.
struct Gathered {
    values: Vec<Option<Tensor>>,
    failed: Option<Error>,
    /// Parts still running.
    missing: usize,
}

impl Gathered {
    fn new(compiled: &Compiled) -> Gathered {
        Gathered { values: vec![None; compiled.fetches], failed: None, missing: compiled.parts.len() }
    }

    fn add(&mut self, fetches: &[usize], result: Result<Vec<Tensor>>) {
        self.missing -= 1;
        match result {
            Ok(values) => {
                for (i, v) in fetches.iter().zip(values) {
                    self.values[*i] = Some(v);
                }
            }
            // What follows from another failure is not the one to report.
            Err(e) => match &self.failed {
                Some(old) if !old.is_derived() || e.is_derived() => {}
                _ => self.failed = Some(e),
            },
        }
    }

    fn results(self) -> Result<Vec<Tensor>> {
        match self.failed {
            Some(e) => Err(e),
            None => {
                self.values.into_iter().map(|r| r.ok_or_else(|| internal("a fetch is missing"))).collect()
            }
        }
    }
}
