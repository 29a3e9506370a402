//! Where a graph runs: in this process, or on a server.

use super::Args;
use thalweg_core::error::Result;
use thalweg_core::tensor::Tensor;
use thalweg_dist::{RemoteRunOptions, RemoteSession};
use thalweg_graph::Graph;
use thalweg_proto::ConfigProto;
use thalweg_runtime::trace::StepTimings;
use thalweg_runtime::{Callable, RunOptions, Session, SessionOptions};

pub enum Place {
    Here(Session),
    There(RemoteSession),
}

/// A step of a place, prepared to be run many times. Values are given in the order of the feeds.
pub enum Step<'a> {
    Here(Callable),
    There { session: &'a RemoteSession, feeds: &'a [&'a str], fetches: Vec<String>, targets: Vec<String> },
}

impl Place {
    pub fn open(graph: &Graph, args: &Args) -> Result<Place> {
        if let Some(target) = &args.session {
            let config = ConfigProto { allow_soft_placement: args.soft_placement, ..Default::default() };
            return Ok(Place::There(RemoteSession::connect(target, graph, config)?));
        }
        let options = SessionOptions {
            cpu_devices: args.devices,
            threads: args.threads,
            optimise: !args.no_optimise,
            ..Default::default()
        };
        Ok(Place::Here(Session::of(graph, options)?))
    }

    pub fn step<'a>(&'a self, feeds: &'a [&'a str], fetches: &[&str], targets: &[&str]) -> Result<Step<'a>> {
        let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        Ok(match self {
            Place::Here(session) => Step::Here(session.callable_by_name(feeds, fetches, targets)?),
            Place::There(session) => {
                Step::There { session, feeds, fetches: owned(fetches), targets: owned(targets) }
            }
        })
    }

    /// Tells a server that the session has ended.
    pub fn close(self) -> Result<()> {
        match self {
            Place::Here(_) => Ok(()),
            Place::There(session) => session.close(),
        }
    }
}

impl Step<'_> {
    pub fn run(&self, values: Vec<Tensor>, options: &RunOptions) -> Result<(Vec<Tensor>, StepTimings)> {
        match self {
            Step::Here(callable) => {
                callable.run_with(values, options).map(|(values, metadata)| (values, metadata.timings))
            }
            Step::There { session, feeds, fetches, targets } => {
                let names = feeds.iter().map(|name| name.to_string());
                let fed: Vec<(String, Tensor)> = names.zip(values).collect();
                let options = RemoteRunOptions { timeout: options.timeout, ..Default::default() };
                Ok((session.run(&fed, fetches, targets, &options)?.0, StepTimings::default()))
            }
        }
    }
}
