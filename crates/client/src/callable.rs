//! `Callable`: a step prepared to be run many times.

use std::sync::Arc;
use thalweg_core::error::{Result, internal};
use thalweg_core::invalid;
use thalweg_core::tensor::Tensor;
use thalweg_dist::{RemoteRunOptions, RemoteSession, run_metadata_to_proto};
use thalweg_runtime::{RunMetadata, RunOptions};

/// A step with fixed feeds, fetches and targets. Values are passed in the order of the feeds.
pub struct Callable(Backend);

enum Backend {
    Local(thalweg_runtime::Callable),
    Remote { session: Arc<RemoteSession>, feeds: Vec<String>, fetches: Vec<String>, targets: Vec<String> },
}

impl Callable {
    pub(crate) fn local(callable: thalweg_runtime::Callable) -> Callable {
        Callable(Backend::Local(callable))
    }

    pub(crate) fn remote(
        session: Arc<RemoteSession>,
        feeds: Vec<String>,
        fetches: Vec<String>,
        targets: Vec<String>,
    ) -> Callable {
        Callable(Backend::Remote { session, feeds, fetches, targets })
    }

    /// Runs once. As many tensors as there are feeds, in their order; the results are in the order of the fetches.
    #[inline]
    pub fn run(&self, feeds: Vec<Tensor>) -> Result<Vec<Tensor>> {
        match &self.0 {
            Backend::Local(callable) => callable.run(feeds),
            Backend::Remote { .. } => self.run_with(feeds, &RunOptions::default()).map(|r| r.0),
        }
    }

    /// As [`Callable::run`], with options. Node timings come from runs in this process only.
    pub fn run_with(&self, values: Vec<Tensor>, options: &RunOptions) -> Result<(Vec<Tensor>, RunMetadata)> {
        match &self.0 {
            Backend::Local(callable) => callable.run_with(values, options),
            Backend::Remote { .. } => {
                let options = RemoteRunOptions {
                    timeout: options.timeout,
                    cancel: options.cancel.clone(),
                    trace: false,
                };
                self.run_remote(values, &options).map(|(results, _)| (results, RunMetadata::default()))
            }
        }
    }

    /// Runs once, traced: also returns the RunMetadata message. `session` is that of a step in this process.
    pub(crate) fn trace(
        &self,
        values: Vec<Tensor>,
        session: Option<&thalweg_runtime::Session>,
    ) -> Result<(Vec<Tensor>, thalweg_proto::RunMetadata)> {
        match &self.0 {
            Backend::Local(callable) => {
                let options = RunOptions { trace: true, ..Default::default() };
                let (results, metadata) = callable.run_with(values, &options)?;
                Ok((results, session.map(|s| run_metadata_to_proto(&metadata, s)).unwrap_or_default()))
            }
            Backend::Remote { .. } => {
                self.run_remote(values, &RemoteRunOptions { trace: true, ..Default::default() })
            }
        }
    }

    fn run_remote(
        &self,
        values: Vec<Tensor>,
        options: &RemoteRunOptions,
    ) -> Result<(Vec<Tensor>, thalweg_proto::RunMetadata)> {
        let Backend::Remote { session, feeds, fetches, targets } = &self.0 else {
            return Err(internal("a step in this process has no remote session"));
        };
        if feeds.len() != values.len() {
            return Err(invalid!("takes {} feeds, got {}", feeds.len(), values.len()));
        }
        let fed: Vec<(String, Tensor)> = feeds.iter().cloned().zip(values).collect();
        session.run(&fed, fetches, targets, options)
    }
}
