//! One step: the plans of all devices run together, from feeds to fetches.

use super::cluster::PartStep;
use super::compile::{Compiled, CompiledPart, PartPlan};
use super::{Callable, Inner, RunMetadata, RunOptions, Session};
use crate::executor::{self, OnFinish, PartResults, RunInput};
use crate::step_error;
use crate::trace::Tracer;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Instant;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Result, deadline_exceeded, internal};
use thalweg_core::invalid;
use thalweg_core::rendezvous::{LocalRendezvous, Rendezvous};
use thalweg_core::step::{StepContext, Trace};
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;

/// Receives the results of a step.
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
        let compiled = &self.specialised(compiled, &feeds, options);
        let step = self.begin(compiled, &feeds, options, None)?;
        let results = match compiled.parts.as_slice() {
            [CompiledPart { plan: PartPlan::Local { device, plan }, .. }] => {
                executor::run(plan, step.input(self, compiled, *device, feeds))
            }
            parts if parts.iter().all(CompiledPart::is_local) => self.run_parts(&step, compiled, feeds),
            _ => self.run_with_others(&step, compiled, feeds),
        };
        self.end(compiled, &step);
        Ok((results.map_err(|e| step_error::cause(e, &step.cancel))?, self.metadata(compiled, &step)))
    }

    /// Starts a step; see [`Callable::start`].
    pub fn start(
        self: &Arc<Self>,
        compiled: &Arc<Compiled>,
        feeds: Vec<Tensor>,
        options: &RunOptions,
        rendezvous: Option<StepRendezvous>,
        done: OnDone,
    ) {
        let compiled = &self.specialised(compiled, &feeds, options);
        let step = match self.begin(compiled, &feeds, options, rendezvous) {
            Ok(step) => step,
            Err(e) => return done(Err(e)),
        };
        let (inner, kept, ended) = (self.clone(), compiled.clone(), step.clone());
        let finish = Box::new(move |results: Result<Vec<Tensor>>| {
            inner.end(&kept, &ended);
            let results = results.map_err(|e| step_error::cause(e, &ended.cancel));
            done(results.map(|values| (values, inner.metadata(&kept, &ended))));
        });
        match compiled.parts.as_slice() {
            [CompiledPart { plan: PartPlan::Local { device, plan }, .. }] => {
                executor::start(plan, step.input(self, compiled, *device, feeds), finish)
            }
            _ => self.start_parts(&step, compiled, feeds, finish),
        }
    }

    /// The id and rendezvous of a new step, for clients that send to it from the start.
    pub fn new_rendezvous(&self, compiled: &Compiled) -> StepRendezvous {
        match &self.cluster {
            Some(cluster) if !compiled.tasks.is_empty() => {
                let (id, rendezvous) = cluster.begin_step();
                StepRendezvous { id, rendezvous }
            }
            _ => StepRendezvous {
                id: self.next_step.fetch_add(1, Ordering::Relaxed),
                rendezvous: Arc::new(LocalRendezvous::default()),
            },
        }
    }

    /// Validates the feeds, and registers the step so that closing the session cancels it.
    fn begin(
        &self,
        compiled: &Compiled,
        feeds: &[Tensor],
        options: &RunOptions,
        rendezvous: Option<StepRendezvous>,
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
        // A single part needs no rendezvous.
        let rendezvous = match compiled.parts.len() {
            0 | 1 if compiled.tasks.is_empty() => rendezvous,
            _ => Some(rendezvous.unwrap_or_else(|| self.new_rendezvous(compiled))),
        };
        let mut step = Step {
            id: rendezvous.as_ref().map_or_else(|| self.next_step.fetch_add(1, Ordering::Relaxed), |m| m.id),
            cancel: Arc::default(),
            caller: None,
            deadline,
            trace: options.trace.then(|| Arc::new(Tracer::new())),
            serial: options.serial,
            rendezvous: rendezvous.map(|m| m.rendezvous),
        };
        if let Some(waiting) = step.rendezvous.clone() {
            step.cancel.on_cancel(move |e| waiting.abort(e.clone()));
        }
        step.caller = options.cancel.as_ref().map(|caller| (caller.clone(), step.cancel.follow(caller)));
        lock(&self.running).insert(step.id, step.cancel.clone());
        // Checked after the step is registered, so that a concurrent close does not miss it.
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
            let planned = |p: &CompiledPart| match &p.plan {
                PartPlan::Local { device, plan } => {
                    Some((self.devices[*device as usize].name().to_string(), plan.len()))
                }
                PartPlan::Remote { .. } => None,
            };
            metadata.planned_nodes = compiled.parts.iter().filter_map(planned).collect();
        }
        metadata
    }

    /// Several devices: all but the first part run on the pool, and they share one rendezvous.
    fn run_parts(&self, step: &Step, compiled: &Compiled, feeds: Vec<Tensor>) -> Result<Vec<Tensor>> {
        let Some((first, others)) = compiled.parts.split_first() else { return Ok(Vec::new()) };
        let (tx, rx) = mpsc::channel();
        let results = part_results(step, compiled, Box::new(move |r| drop(tx.send(r))));
        for part in others {
            self.start_part(step, compiled, part, &feeds, results.part(part.fetches.clone()));
        }
        let first_done = results.part(first.fetches.clone());
        if let PartPlan::Local { device, plan } = &first.plan {
            first_done(executor::run(plan, step.input(self, compiled, *device, feeds)));
        }
        rx.recv().map_err(|_| internal("a part of the step never ended"))?
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
    fn start_parts(&self, step: &Step, compiled: &Compiled, feeds: Vec<Tensor>, finish: OnFinish) {
        let results = part_results(step, compiled, finish);
        // Remote parts first: their latency is longest.
        let (mut local, remote): (Vec<_>, Vec<_>) = compiled.parts.iter().partition(|p| p.is_local());
        // One local part runs on this thread.
        let last = local.pop();
        for part in remote.into_iter().chain(local) {
            self.start_part(step, compiled, part, &feeds, results.part(part.fetches.clone()));
        }
        if let Some(CompiledPart { plan: PartPlan::Local { device, plan }, fetches }) = last {
            let input = step.input(self, compiled, *device, feeds);
            executor::start(plan, input, results.part(fetches.clone()));
        }
    }

    fn start_part(
        &self,
        step: &Step,
        compiled: &Compiled,
        part: &CompiledPart,
        feeds: &[Tensor],
        done: OnFinish,
    ) {
        match &part.plan {
            PartPlan::Local { device, plan } => {
                executor::spawn(plan.clone(), step.input(self, compiled, *device, feeds.to_vec()), done)
            }
            PartPlan::Remote { part, feeds: wanted, .. } => {
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
                        done(r.map(|result| {
                            if let Some(trace) = trace {
                                trace.add(result.timings);
                            }
                            result.values
                        }))
                    }),
                );
            }
        }
    }
}

/// The id of a step and the rendezvous of its parts.
pub struct StepRendezvous {
    pub id: u64,
    pub rendezvous: Arc<dyn Rendezvous>,
}

/// Shared by the parts of one step.
#[derive(Clone)]
struct Step {
    id: u64,
    /// The step's own: a step that fails cancels its other parts, and no other step with the same options.
    cancel: Arc<Cancellation>,
    /// The caller's cancellation, and the number under which the step follows it.
    caller: Option<(Arc<Cancellation>, u64)>,
    deadline: Option<Instant>,
    trace: Option<Arc<Tracer>>,
    serial: bool,
    /// The rendezvous of the parts, and of the client of a partial run. If not set, each part has its own.
    rendezvous: Option<Arc<dyn Rendezvous>>,
}

impl Step {
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

fn part_results(step: &Step, compiled: &Compiled, finish: OnFinish) -> Arc<PartResults> {
    PartResults::new(compiled.fetches, compiled.parts.len(), step.cancel.clone(), finish)
}
