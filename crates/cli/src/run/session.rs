//! A session in this process or on a server.

use super::{Args, session_options};
use thalweg_core::error::Result;
use thalweg_core::tensor::Tensor;
use thalweg_dist::{RemoteRunOptions, RemoteSession};
use thalweg_graph::Graph;
use thalweg_proto::ConfigProto;
use thalweg_runtime::trace::StepTimings;
use thalweg_runtime::{Callable, RunOptions, Session, SessionOptions};

pub enum AnySession {
    Local(Session),
    Remote(RemoteSession),
}

/// A prepared step that can be run many times. Values are given in the order of the feeds.
pub enum Step<'a> {
    Local(Callable),
    Remote { session: &'a RemoteSession, feeds: &'a [&'a str], fetches: Vec<String>, targets: Vec<String> },
}

impl AnySession {
    pub fn open(graph: &Graph, args: &Args) -> Result<AnySession> {
        if let Some(target) = &args.session {
            let config = ConfigProto { allow_soft_placement: args.soft_placement, ..Default::default() };
            return Ok(AnySession::Remote(RemoteSession::connect(target, graph, config)?));
        }
        // Models name the devices that they were trained on.
        let soft_placement = args.graph.is_dir();
        let options = SessionOptions { soft_placement, ..session_options(args) };
        Ok(AnySession::Local(Session::of(graph, options)?))
    }

    pub fn step<'a>(&'a self, feeds: &'a [&'a str], fetches: &[&str], targets: &[&str]) -> Result<Step<'a>> {
        let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        Ok(match self {
            AnySession::Local(session) => Step::Local(session.callable_by_name(feeds, fetches, targets)?),
            AnySession::Remote(session) => {
                Step::Remote { session, feeds, fetches: owned(fetches), targets: owned(targets) }
            }
        })
    }

    /// Closes the session on its server.
    pub fn close(self) -> Result<()> {
        match self {
            AnySession::Local(_) => Ok(()),
            AnySession::Remote(session) => session.close(),
        }
    }
}

impl Step<'_> {
    pub fn run(&self, values: Vec<Tensor>, options: &RunOptions) -> Result<(Vec<Tensor>, StepTimings)> {
        match self {
            Step::Local(callable) => {
                callable.run_with(values, options).map(|(values, metadata)| (values, metadata.timings))
            }
            Step::Remote { session, feeds, fetches, targets } => {
                let names = feeds.iter().map(|name| name.to_string());
                let fed: Vec<(String, Tensor)> = names.zip(values).collect();
                let options = RemoteRunOptions { timeout: options.timeout, ..Default::default() };
                Ok((session.run(&fed, fetches, targets, &options)?.0, StepTimings::default()))
            }
        }
    }
}
