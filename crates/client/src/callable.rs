//! `Callable`: a run prepared to be made many times.

use std::sync::Arc;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::tensor::Tensor;
use thalweg_dist::{RemoteRunOptions, RemoteSession};
use thalweg_runtime::{RunMetadata, RunOptions};

/// What is fed, fetched and run, fixed; values are given in the order of the feeds.
pub struct Callable(Kind);

enum Kind {
    Here(thalweg_runtime::Callable),
    There { session: Arc<RemoteSession>, feeds: Vec<String>, fetches: Vec<String>, targets: Vec<String> },
}

impl Callable {
    pub(crate) fn here(callable: thalweg_runtime::Callable) -> Callable {
        Callable(Kind::Here(callable))
    }

    pub(crate) fn there(
        session: Arc<RemoteSession>,
        feeds: Vec<String>,
        fetches: Vec<String>,
        targets: Vec<String>,
    ) -> Callable {
        Callable(Kind::There { session, feeds, fetches, targets })
    }

    #[inline]
    pub fn run(&self, feeds: Vec<Tensor>) -> Result<Vec<Tensor>> {
        match &self.0 {
            Kind::Here(callable) => callable.run(feeds),
            Kind::There { .. } => self.run_with(feeds, &RunOptions::default()).map(|r| r.0),
        }
    }

    /// Timings of nodes come from runs in this process only.
    pub fn run_with(&self, values: Vec<Tensor>, options: &RunOptions) -> Result<(Vec<Tensor>, RunMetadata)> {
        match &self.0 {
            Kind::Here(callable) => callable.run_with(values, options),
            Kind::There { session, feeds, fetches, targets } => {
                if feeds.len() != values.len() {
                    return Err(invalid!("takes {} feeds, got {}", feeds.len(), values.len()));
                }
                let fed: Vec<(String, Tensor)> = feeds.iter().cloned().zip(values).collect();
                let options = RemoteRunOptions {
                    timeout: options.timeout,
                    cancel: options.cancel.clone(),
                    trace: false,
                };
                let (results, _) = session.run(&fed, fetches, targets, &options)?;
                Ok((results, RunMetadata::default()))
            }
        }
    }
}
