//! `Callable`: a step prepared to be run many times.

use std::time::Duration;
use thalweg_core::error::Result;
use thalweg_core::tensor::Tensor;
use thalweg_runtime::{OnDone, RunMetadata, RunOptions};

#[cfg(feature = "remote")]
pub(crate) use remote::RemoteCallable;

/// A step with fixed feeds, fetches and targets. Values are passed in the order of the feeds.
pub struct Callable(Backend);

enum Backend {
    Local(thalweg_runtime::Callable),
    #[cfg(feature = "remote")]
    Remote(RemoteCallable),
}

impl Callable {
    pub(crate) fn local(callable: thalweg_runtime::Callable) -> Callable {
        Callable(Backend::Local(callable))
    }

    #[cfg(feature = "remote")]
    pub(crate) fn remote(callable: RemoteCallable) -> Callable {
        Callable(Backend::Remote(callable))
    }

    /// Runs once. As many tensors as there are feeds, in their order; the results are in the order of the fetches.
    #[inline]
    pub fn run(&self, feeds: Vec<Tensor>) -> Result<Vec<Tensor>> {
        match &self.0 {
            Backend::Local(callable) => callable.run(feeds),
            #[cfg(feature = "remote")]
            Backend::Remote(callable) => callable.run(feeds, &RunOptions::default()).map(|r| r.0),
        }
    }

    /// As [`Callable::run`], with options. Node timings come from runs in this process only.
    pub fn run_with(&self, values: Vec<Tensor>, options: &RunOptions) -> Result<(Vec<Tensor>, RunMetadata)> {
        match &self.0 {
            Backend::Local(callable) => callable.run_with(values, options),
            #[cfg(feature = "remote")]
            Backend::Remote(callable) => {
                let (results, _) = callable.run(values, options)?;
                Ok((results, RunMetadata::default()))
            }
        }
    }

    /// Starts a run on the calling thread, and returns when the step has ended or has to wait; `done` is called once, on any thread. A step on
    /// a server is waited for. The caller must cancel a run that may wait for ever.
    pub fn start(&self, values: Vec<Tensor>, options: &RunOptions, done: OnDone) {
        match &self.0 {
            Backend::Local(callable) => callable.start(values, options, done),
            #[cfg(feature = "remote")]
            Backend::Remote(_) => done(self.run_with(values, options)),
        }
    }

    /// Whether the last [`Callable::start`] returned within this time, and the next can be expected to. Not on a server.
    pub fn starts_within(&self, limit: Duration) -> bool {
        match &self.0 {
            Backend::Local(callable) => callable.starts_within(limit),
            #[cfg(feature = "remote")]
            Backend::Remote(_) => false,
        }
    }

    /// Runs once, traced: also returns the RunMetadata message. `session` is that of a step in this process.
    #[cfg(feature = "remote")]
    pub(crate) fn trace(
        &self,
        values: Vec<Tensor>,
        session: Option<&thalweg_runtime::Session>,
    ) -> Result<(Vec<Tensor>, thalweg_proto::RunMetadata)> {
        let options = RunOptions { trace: true, ..Default::default() };
        match &self.0 {
            Backend::Local(callable) => {
                let (results, metadata) = callable.run_with(values, &options)?;
                let told = session.map(|s| thalweg_dist::run_metadata_to_proto(&metadata, s));
                Ok((results, told.unwrap_or_default()))
            }
            Backend::Remote(callable) => callable.run(values, &options),
        }
    }
}

#[cfg(feature = "remote")]
mod remote {
    use std::sync::Arc;
    use thalweg_core::error::Result;
    use thalweg_core::invalid;
    use thalweg_core::tensor::Tensor;
    use thalweg_dist::{RemoteRunOptions, RemoteSession};
    use thalweg_proto::RunMetadata;
    use thalweg_runtime::RunOptions;

    /// A step on a server.
    pub(crate) struct RemoteCallable {
        pub session: Arc<RemoteSession>,
        pub feeds: Vec<String>,
        pub fetches: Vec<String>,
        pub targets: Vec<String>,
    }

    impl RemoteCallable {
        pub fn run(&self, values: Vec<Tensor>, options: &RunOptions) -> Result<(Vec<Tensor>, RunMetadata)> {
            let RemoteCallable { session, feeds, fetches, targets } = self;
            if feeds.len() != values.len() {
                return Err(invalid!("takes {} feeds, got {}", feeds.len(), values.len()));
            }
            let fed: Vec<(String, Tensor)> = feeds.iter().cloned().zip(values).collect();
            let options = RemoteRunOptions {
                timeout: options.timeout,
                cancel: options.cancel.clone(),
                trace: options.trace,
            };
            session.run(&fed, fetches, targets, &options)
        }
    }
}
