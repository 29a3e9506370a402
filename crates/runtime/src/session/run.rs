//! One step: values in, plans of all devices run together, values out.

use super::cluster::PartStep;
use super::compile::{Compiled, CompiledPart, Place};
use super::{Callable, Inner, RunMetadata, RunOptions, Session};
use crate::executor::{Run, RunInput};
use crate::trace::Tracer;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Code, Error, Result, deadline_exceeded, internal};
use thalweg_core::invalid;
use thalweg_core::rendezvous::{LocalRendezvous, Rendezvous};
use thalweg_core::step::{StepContext, Trace};
use thalweg_core::sync::lock;
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
        let began = options.timeout.map(|_| Instant::now());
        let compiled = self.inner.compiled(&signature, options)?;
        let callable = Callable { inner: self.inner.clone(), compiled };
        let values = feeds.iter().map(|f| f.1.clone()).collect();
        match began {
            Some(began) => callable.run_with(values, &options.after(began.elapsed())),
            None => callable.run_with(values, options),
        }
    }
}

impl Inner {
    /// Runs a step and waits for its end.
    pub fn run(
        &self,
        compiled: &Arc<Compiled>,
        feeds: Vec<Tensor>,
        options: &RunOptions,
    ) -> Result<(Vec<Tensor>, RunMetadata)> {
        let compiled = &self.fitting(compiled, &feeds, options);
        let step = self.begin(compiled, &feeds, options, None)?;
        let results = match compiled.parts.as_slice() {
            [CompiledPart { place: Place::Here { device, plan }, .. }] => {
                Run::wait(plan, step.input(self, compiled, *device, feeds))
            }
            parts if parts.iter().all(CompiledPart::is_here) => self.run_parts(&step, compiled, feeds),
            _ => self.run_with_others(&step, compiled, feeds),
        };
        self.end(compiled, &step);
        Ok((results.map_err(|e| step.cause(e))?, self.metadata(compiled, &step)))
    }

    /// Starts a step; see [`Callable::start`].
    pub fn start(
        self: &Arc<Self>,
        compiled: &Arc<Compiled>,
        feeds: Vec<Tensor>,
        options: &RunOptions,
        meeting: Option<Meeting>,
        done: OnDone,
    ) {
        let compiled = &self.fitting(compiled, &feeds, options);
        let step = match self.begin(compiled, &feeds, options, meeting) {
            Ok(step) => step,
            Err(e) => return done(Err(e)),
        };
        let (inner, kept, ended) = (self.clone(), compiled.clone(), step.clone());
        let finish = Box::new(move |results: Result<Vec<Tensor>>| {
            inner.end(&kept, &ended);
            let results = results.map_err(|e| ended.cause(e));
            done(results.map(|values| (values, inner.metadata(&kept, &ended))));
        });
        match compiled.parts.as_slice() {
            [CompiledPart { place: Place::Here { device, plan }, .. }] => {
                Run::start_here(plan, step.input(self, compiled, *device, feeds), finish)
            }
            _ => self.start_parts(&step, compiled, feeds, finish),
        }
    }

    /// Where the parts of a step will meet, for those who want to be there from the start.
    pub fn meeting(&self, compiled: &Compiled) -> Meeting {
        match &self.cluster {
            Some(cluster) if !compiled.tasks.is_empty() => {
                let (id, rendezvous) = cluster.begin_step();
                Meeting { id, rendezvous }
            }
            _ => Meeting {
                id: self.next_step.fetch_add(1, Ordering::Relaxed),
                rendezvous: Arc::new(LocalRendezvous::default()),
            },
        }
    }

    /// Checks what is fed, and puts the step on the list of those that closing the session cancels.
    fn begin(
        &self,
        compiled: &Compiled,
        feeds: &[Tensor],
        options: &RunOptions,
        meeting: Option<Meeting>,
    ) -> Result<Step> {
        if feeds.len() != compiled.feeds.len() {
            return Err(invalid!("takes {} feeds, got {}", compiled.feeds.len(), feeds.len()));
        }
        for (info, value) in compiled.feeds.iter().zip(feeds) {
            info.check(value)?;
            value.charge_to(self.memory()).map_err(|e| e.context(format_args!("feed '{}'", info.tensor)))?;
        }
        let deadline = match options.timeout.or(self.options.operation_timeout) {
            Some(t) => {
                Some(Instant::now().checked_add(t).ok_or_else(|| invalid!("the time limit is too large"))?)
            }
            None => None,
        };
        // One part that meets nobody needs no place for it.
        let meeting = match compiled.parts.len() {
            0 | 1 if compiled.tasks.is_empty() => meeting,
            _ => Some(meeting.unwrap_or_else(|| self.meeting(compiled))),
        };
        let mut step = Step {
            id: meeting.as_ref().map_or_else(|| self.next_step.fetch_add(1, Ordering::Relaxed), |m| m.id),
            cancel: Arc::default(),
            caller: None,
            deadline,
            trace: options.trace.then(|| Arc::new(Tracer::new())),
            serial: options.serial,
            rendezvous: meeting.map(|m| m.rendezvous),
        };
        if let Some(waiting) = step.rendezvous.clone() {
            step.cancel.on_cancel(move |e| waiting.abort(e.clone()));
        }
        step.caller = options.cancel.as_ref().map(|caller| (caller.clone(), step.cancel.follow(caller)));
        lock(&self.running).insert(step.id, step.cancel.clone());
        // Looked at after the step is on the list, so that a close at this moment does not miss it.
        self.check_open().inspect_err(|_| self.end(compiled, &step))?;
        Ok(step)
    }

    fn end(&self, compiled: &Compiled, step: &Step) {
        lock(&self.running).remove(&step.id);
        if let Some((caller, id)) = &step.caller {
            caller.forget(*id);
        }
        if let Some(cluster) = self.cluster.as_ref().filter(|_| !compiled.tasks.is_empty()) {
            cluster.end_step(step.id, &compiled.tasks);
        }
    }

    fn metadata(&self, compiled: &Compiled, step: &Step) -> RunMetadata {
        let mut metadata = RunMetadata { step: step.id, ..Default::default() };
        if let Some(trace) = &step.trace {
            metadata.timings = trace.timings();
            let planned = |p: &CompiledPart| match &p.place {
                Place::Here { device, plan } => {
                    Some((self.devices[*device as usize].name().to_string(), plan.len()))
                }
                Place::There { .. } => None,
            };
            metadata.planned_nodes = compiled.parts.iter().filter_map(planned).collect();
        }
        metadata
    }

    /// Several devices: all but the first part run on the pool, and they meet in one rendezvous.
    fn run_parts(&self, step: &Step, compiled: &Compiled, feeds: Vec<Tensor>) -> Result<Vec<Tensor>> {
        let Some((first, others)) = compiled.parts.split_first() else { return Ok(Vec::new()) };
        let (tx, rx) = mpsc::channel();
        for part in others {
            let (tx, fetches) = (tx.clone(), part.fetches.clone());
            let cancel = step.cancel.clone();
            let done = Box::new(move |r: Result<Vec<Tensor>>| {
                if let Err(e) = &r {
                    cancel.cancel(e.clone().derived());
                }
                drop(tx.send((fetches, r)));
            });
            self.start_part(step, compiled, part, &feeds, done);
        }
        let mut gathered = Gathered::new(compiled);
        if let Place::Here { device, plan } = &first.place {
            let result = Run::wait(plan, step.input(self, compiled, *device, feeds));
            if let Err(e) = &result {
                step.cancel.cancel(e.clone().derived());
            }
            gathered.add(&first.fetches, result);
        }
        for _ in others {
            let (fetches, r) = rx.recv().map_err(|_| internal("a part of the step never ended"))?;
            gathered.add(&fetches, r);
        }
        gathered.results()
    }

    /// Parts on other tasks: this thread only waits.
    fn run_with_others(&self, step: &Step, compiled: &Compiled, feeds: Vec<Tensor>) -> Result<Vec<Tensor>> {
        let (tx, rx) = mpsc::channel();
        self.start_parts(step, compiled, feeds, Box::new(move |r| drop(tx.send(r))));
        let lost = || internal("the step never ended");
        let Some(deadline) = step.deadline else { return rx.recv().map_err(|_| lost())? };
        match rx.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(result) => result,
            Err(_) => {
                let e = deadline_exceeded("the step did not end within its time limit");
                step.cancel.cancel(e.clone());
                Err(e)
            }
        }
    }

    /// As `run_parts`, without waiting for any.
    fn start_parts(
        &self,
        step: &Step,
        compiled: &Compiled,
        feeds: Vec<Tensor>,
        finish: Box<dyn FnOnce(Result<Vec<Tensor>>) + Send>,
    ) {
        let gathered = Arc::new(Mutex::new(Some((Gathered::new(compiled), finish))));
        // Those far away first: their way takes longest.
        let (mut near, far): (Vec<_>, Vec<_>) = compiled.parts.iter().partition(|p| p.is_here());
        // Of those here, one needs no thread beside this one.
        let last = near.pop();
        for part in far.into_iter().chain(near).chain(last) {
            let (gathered, fetches) = (gathered.clone(), part.fetches.clone());
            let cancel = step.cancel.clone();
            let part_done = Box::new(move |r: Result<Vec<Tensor>>| {
                // The others wait for it in vain. They may answer before this returns, so no lock is held.
                if let Err(e) = &r {
                    cancel.cancel(e.clone().derived());
                }
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
            match &part.place {
                Place::Here { device, plan } if last.is_some_and(|last| std::ptr::eq(part, last)) => {
                    Run::start_here(plan, step.input(self, compiled, *device, feeds.clone()), part_done)
                }
                _ => self.start_part(step, compiled, part, &feeds, part_done),
            }
        }
    }

    fn start_part(
        &self,
        step: &Step,
        compiled: &Compiled,
        part: &CompiledPart,
        feeds: &[Tensor],
        done: Box<dyn FnOnce(Result<Vec<Tensor>>) + Send>,
    ) {
        match &part.place {
            Place::Here { device, plan } => {
                Run::start(plan.clone(), step.input(self, compiled, *device, feeds.to_vec()), done)
            }
            Place::There { part, feeds: wanted, .. } => {
                let trace = step.trace.clone();
                let start = PartStep {
                    id: step.id,
                    feeds: wanted.iter().filter_map(|i| feeds.get(*i).cloned()).collect(),
                    cancel: step.cancel.clone(),
                    trace: trace.is_some(),
                };
                part.start(
                    start,
                    Box::new(move |r| {
                        done(r.map(|told| {
                            if let Some(trace) = trace {
                                trace.add(told.timings);
                            }
                            told.values
                        }))
                    }),
                );
            }
        }
    }
}

/// The number of a step and where its parts meet.
pub struct Meeting {
    pub id: u64,
    pub rendezvous: Arc<dyn Rendezvous>,
}

/// What the parts of one step share.
#[derive(Clone)]
struct Step {
    id: u64,
    /// The step's own: a step that fails cancels what is left of itself, and nothing of other steps with the same options.
    cancel: Arc<Cancellation>,
    /// What the caller may cancel it by, and the number under which the step follows it.
    caller: Option<(Arc<Cancellation>, u64)>,
    deadline: Option<Instant>,
    trace: Option<Arc<Tracer>>,
    serial: bool,
    /// Where the parts meet, and the client of a partial run with them; one of its own if not set.
    rendezvous: Option<Arc<dyn Rendezvous>>,
}

impl Step {
    /// Why the step ended: a kernel that was cancelled only knows that it was.
    fn cause(&self, e: Error) -> Error {
        match self.cancel.reason() {
            Some(reason) if e.code() == Code::Cancelled && !reason.is_derived() => reason,
            _ => e,
        }
    }

    fn input(&self, inner: &Inner, compiled: &Compiled, device: u16, feeds: Vec<Tensor>) -> RunInput {
        let mut step = StepContext::new(self.id, inner.devices[device as usize].context.clone());
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
