//! One step: values in, plans of all devices run together, values out.

use super::compile::Compiled;
use super::{Callable, Inner, RunMetadata, RunOptions, Session};
use crate::executor::{Run, RunInput};
use crate::trace::Tracer;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Instant;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Error, Result, internal};
use thalweg_core::invalid;
use thalweg_core::rendezvous::LocalRendezvous;
use thalweg_core::resource::lock;
use thalweg_core::step::{StepContext, Trace};
use thalweg_core::tensor::Tensor;

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
    pub fn run(
        &self,
        compiled: &Compiled,
        feeds: Vec<Tensor>,
        options: &RunOptions,
    ) -> Result<(Vec<Tensor>, RunMetadata)> {
        self.check_open()?;
        if feeds.len() != compiled.feeds.len() {
            return Err(invalid!("takes {} feeds, got {}", compiled.feeds.len(), feeds.len()));
        }
        for (info, value) in compiled.feeds.iter().zip(&feeds) {
            info.check(value)?;
        }
        let deadline = match options.timeout.or(self.options.operation_timeout) {
            Some(t) => {
                Some(Instant::now().checked_add(t).ok_or_else(|| invalid!("the time limit is too large"))?)
            }
            None => None,
        };
        let trace = options.trace.then(|| Arc::new(Tracer::new()));
        let step_id = self.next_step.fetch_add(1, Ordering::Relaxed);
        let cancel = options.cancel.clone().unwrap_or_default();
        let step =
            Step { inner: self, compiled, step_id, cancel: cancel.clone(), deadline, trace: trace.clone() };
        let _running = Running::new(self, step_id, cancel);
        let results = step.run(feeds)?;
        let mut metadata = RunMetadata::default();
        if let Some(trace) = trace {
            metadata.timings = trace.timings();
            let name = |p: &super::compile::CompiledPart| {
                (self.devices[p.device as usize].name().to_string(), p.plan.len())
            };
            metadata.planned_nodes = compiled.parts.iter().map(name).collect();
        }
        Ok((results, metadata))
    }
}

/// Keeps a step on the list of those that closing the session cancels.
struct Running<'a> {
    inner: &'a Inner,
    step_id: u64,
}

impl<'a> Running<'a> {
    fn new(inner: &'a Inner, step_id: u64, cancel: Arc<Cancellation>) -> Self {
        lock(&inner.running).insert(step_id, cancel);
        Running { inner, step_id }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        lock(&self.inner.running).remove(&self.step_id);
    }
}

struct Step<'a> {
    inner: &'a Inner,
    compiled: &'a Compiled,
    step_id: u64,
    cancel: Arc<Cancellation>,
    deadline: Option<Instant>,
    trace: Option<Arc<Tracer>>,
}

impl Step<'_> {
    fn context(&self, device: u16) -> StepContext {
        let mut step = StepContext::new(self.step_id, self.inner.devices[device as usize].context.clone());
        step.cancel = self.cancel.clone();
        step.functions = Some(self.compiled.functions.clone());
        step.deadline = self.deadline;
        step.trace = self.trace.clone().map(|t| t as Arc<dyn Trace>);
        step
    }

    fn run(&self, feeds: Vec<Tensor>) -> Result<Vec<Tensor>> {
        let [part] = self.compiled.parts.as_slice() else { return self.run_parts(feeds) };
        let input = RunInput { feeds, step: Arc::new(self.context(part.device)) };
        Run::wait(&part.plan, input)
    }

    /// Several devices: all but the first part run on the pool, and they meet in one rendezvous.
    fn run_parts(&self, feeds: Vec<Tensor>) -> Result<Vec<Tensor>> {
        let Some((first, others)) = self.compiled.parts.split_first() else { return Ok(Vec::new()) };
        let rendezvous = Arc::new(LocalRendezvous::default());
        let input = |device: u16| {
            let mut step = self.context(device);
            step.rendezvous = rendezvous.clone();
            RunInput { feeds: feeds.clone(), step: Arc::new(step) }
        };
        let (tx, rx) = mpsc::channel();
        for (i, part) in others.iter().enumerate() {
            let tx = tx.clone();
            Run::start(part.plan.clone(), input(part.device), Box::new(move |r| drop(tx.send((i + 1, r)))));
        }
        let mut results = vec![None; self.compiled.fetches];
        let mut failed: Option<Error> = None;
        let mut collect = |at: usize, r: Result<Vec<Tensor>>| match r {
            Ok(values) => {
                for (i, v) in self.compiled.parts[at].fetches.iter().zip(values) {
                    results[*i] = Some(v);
                }
            }
            // What follows from another failure is not the one to report.
            Err(e) => match &failed {
                Some(old) if !old.is_derived() || e.is_derived() => {}
                _ => failed = Some(e),
            },
        };
        collect(0, Run::wait(&first.plan, input(first.device)));
        for _ in others {
            let (at, r) = rx.recv().map_err(|_| internal("a part of the step never ended"))?;
            collect(at, r);
        }
        if let Some(e) = failed {
            return Err(e);
        }
        results.into_iter().map(|r| r.ok_or_else(|| internal("a fetch is missing"))).collect()
    }
}
