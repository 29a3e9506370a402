//! `Callable`: one run signature, compiled, to be run without a look-up in the plan cache.

use super::compile::{Compiled, Signature};
use super::run::OnDone;
use super::{Inner, RunMetadata, RunOptions, Session};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_core::error::Result;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;

#[derive(Clone)]
pub struct Callable {
    pub(super) inner: Arc<Inner>,
    pub(super) compiled: Arc<Compiled>,
}

impl Session {
    /// Prepares to run these fetches and targets with values for these feeds.
    pub fn callable(&self, feeds: &[Output], fetches: &[Output], targets: &[NodeId]) -> Result<Callable> {
        self.callable_with(feeds, fetches, targets, &RunOptions::default())
    }

    /// As `callable`. The timeout and cancellation of the options apply to compiling.
    pub fn callable_with(
        &self,
        feeds: &[Output],
        fetches: &[Output],
        targets: &[NodeId],
        options: &RunOptions,
    ) -> Result<Callable> {
        self.inner.check_open()?;
        let signature = Signature {
            feeds: feeds.to_vec(),
            fetches: fetches.to_vec(),
            targets: targets.to_vec(),
            partial: false,
        };
        Ok(Callable { inner: self.inner.clone(), compiled: self.inner.compiled(&signature, options)? })
    }

    /// As `callable`, by tensor and node names.
    pub fn callable_by_name(&self, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<Callable> {
        self.callable_by_name_with(feeds, fetches, targets, &RunOptions::default())
    }

    /// As `callable_with`, by tensor and node names.
    pub fn callable_by_name_with(
        &self,
        feeds: &[&str],
        fetches: &[&str],
        targets: &[&str],
        options: &RunOptions,
    ) -> Result<Callable> {
        let signature = self.signature(feeds, fetches, targets)?;
        self.callable_with(&signature.feeds, &signature.fetches, &signature.targets, options)
    }

    /// The callable of these names, if it is in the plan cache.
    pub fn compiled_callable(&self, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Option<Callable> {
        let signature = self.signature(feeds, fetches, targets).ok()?;
        let compiled = lock(&self.inner.plans).get(&signature)?;
        Some(Callable { inner: self.inner.clone(), compiled })
    }

    pub(super) fn signature(&self, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<Signature> {
        self.with_graph(|g| {
            Ok(Signature {
                feeds: feeds.iter().map(|n| g.output(n)).collect::<Result<_>>()?,
                fetches: fetches.iter().map(|n| g.output(n)).collect::<Result<_>>()?,
                targets: targets.iter().map(|n| g.get(n)).collect::<Result<_>>()?,
                partial: false,
            })
        })
    }
}

impl Callable {
    /// Runs with these values for the feeds, in their order; results come in the order of the fetches.
    pub fn run(&self, feeds: Vec<Tensor>) -> Result<Vec<Tensor>> {
        self.run_with(feeds, &RunOptions::default()).map(|r| r.0)
    }

    pub fn run_with(&self, feeds: Vec<Tensor>, options: &RunOptions) -> Result<(Vec<Tensor>, RunMetadata)> {
        self.inner.run(&self.compiled, feeds, options)
    }

    /// Starts a run on the calling thread, and returns when the step has ended or has to wait. `done` is called once, on any thread.
    /// The timeout is checked only while nodes run: the caller must cancel a run that may wait.
    pub fn start(&self, feeds: Vec<Tensor>, options: &RunOptions, done: OnDone) {
        let began = Instant::now();
        self.inner.start(&self.compiled, feeds, options, None, done);
        self.compiled.start_duration.note(began.elapsed());
    }

    /// Whether the last `start` returned within this time, and the next can be expected to: not with loops, whose duration may depend on
    /// the feeds. False before the first.
    pub fn starts_within(&self, limit: Duration) -> bool {
        self.compiled.start_duration.within(limit) && !self.compiled.parts.iter().any(|p| p.has_loops())
    }

    /// The other tasks that run a part, by number.
    pub fn tasks(&self) -> &[usize] {
        &self.compiled.tasks
    }

    /// Nodes in the plan, after pruning and optimisation.
    pub fn planned_nodes(&self) -> usize {
        self.compiled.parts.iter().map(|p| p.planned_nodes()).sum()
    }
}
