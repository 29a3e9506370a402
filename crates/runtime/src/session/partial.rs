//! Partial runs: one step that is fed and fetched from while it runs.
//!
//! Every feed is a `_Recv` and every fetch a `_Send` of the step's rendezvous, with the client at the other end. So the step is
//! an ordinary one: it starts with the first call, and waits for feeds that have not arrived. Fetches are received from its start on: the
//! rendezvous of a step in a cluster ends with the step, which may be before the call that asks for them.

use super::compile::{Compiled, Signature};
use super::feeds::{FeedInfo, feed_info};
use super::{RunMetadata, RunOptions, Session};
use crate::work::{Kind, Work};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock};
use thalweg_core::attr::Attrs;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Error, Result, cancelled, internal};
use thalweg_core::invalid;
use thalweg_core::node::Output;
use thalweg_core::rendezvous::{LocalRendezvous, Parcel, Rendezvous, rendezvous_key};
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;
use thalweg_graph::Graph;

/// The client's name in rendezvous keys.
const CLIENT: &str = "client";

fn key(tensor: &str) -> String {
    rendezvous_key(CLIENT, 0, CLIENT, tensor, 0, 0)
}

fn transfer_attrs(tensor: &str) -> Attrs {
    let mut attrs = Attrs::new();
    attrs.set("tensor_name", tensor);
    attrs.set("send_device", CLIENT);
    attrs.set("send_device_incarnation", 0i64);
    attrs.set("recv_device", CLIENT);
    attrs.set("client_terminated", true);
    attrs
}

/// Replaces feeds by Recvs and fetches by Sends, all on the device `home` if there is one.
pub fn add_client_transfers(
    work: &mut Work,
    graph: &Graph,
    signature: &Signature,
    home: Option<u16>,
) -> Result<()> {
    let recv = work.registry.find("_Recv")?;
    for node in &mut work.nodes {
        if let Kind::Feed(i) = node.kind
            && let Some(feed) = signature.feeds.get(i)
        {
            let mut attrs = transfer_attrs(&graph.tensor_name(*feed));
            attrs.set("tensor_type", graph.dtype(*feed));
            (node.op, node.kind, node.attrs) = (recv, Kind::Op, attrs);
            node.device = home.unwrap_or(node.device);
        }
    }
    let fetches = std::mem::take(&mut work.fetches);
    for (i, (value, fetch)) in fetches.into_iter().zip(&signature.fetches).enumerate() {
        let mut attrs = transfer_attrs(&graph.tensor_name(*fetch));
        attrs.set("T", graph.dtype(*fetch));
        let send = work.add(value.node, &format!("_send_{i}"), "_Send", &[value], &[], attrs)?;
        work.nodes[send.at()].device = home.unwrap_or(work.node(send).device);
        work.targets.push(send);
    }
    Ok(())
}

/// Receives the fetches of a call, and with the last call the metadata of the step.
pub type OnFetched = Box<dyn FnOnce(Result<(Vec<Tensor>, Option<RunMetadata>)>) + Send>;

/// A running step. Dropping it cancels the step.
pub struct PartialRun {
    session: Session,
    compiled: Arc<Compiled>,
    /// The rendezvous with the client, once the step has begun.
    rendezvous: OnceLock<Arc<dyn Rendezvous>>,
    /// Fetches that have arrived, until a call takes them.
    arrived: Arc<LocalRendezvous>,
    cancel: Arc<Cancellation>,
    feeds: HashMap<String, (Output, FeedInfo)>,
    fetches: HashMap<String, Output>,
    progress: Arc<Mutex<Progress>>,
}

#[derive(Default)]
struct Progress {
    fed: HashSet<Output>,
    fetched: HashSet<Output>,
    ended: Option<Result<RunMetadata>>,
    /// Calls that wait for the end of the step.
    at_end: Vec<Box<dyn FnOnce(Result<RunMetadata>) + Send>>,
}

impl Session {
    /// A step with these feeds and fetches.
    pub fn partial_run(&self, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<PartialRun> {
        self.partial_run_with(feeds, fetches, targets, &RunOptions::default())
    }

    /// As `partial_run`; the timeout and cancellation of the options apply to compiling.
    pub fn partial_run_with(
        &self,
        feeds: &[&str],
        fetches: &[&str],
        targets: &[&str],
        options: &RunOptions,
    ) -> Result<PartialRun> {
        self.inner.check_open()?;
        let signature = Signature { partial: true, ..self.signature(feeds, fetches, targets)? };
        let compiled = self.inner.compiled(&signature, options)?;
        let any_shape = self.inner.options.any_feed_shape;
        Ok(self.with_graph(|g| PartialRun {
            session: self.clone(),
            compiled,
            rendezvous: OnceLock::new(),
            arrived: Arc::default(),
            cancel: Arc::default(),
            feeds: signature
                .feeds
                .iter()
                .map(|o| (g.tensor_name(*o), (*o, feed_info(g, *o, any_shape))))
                .collect(),
            fetches: signature.fetches.iter().map(|o| (g.tensor_name(*o), *o)).collect(),
            progress: Arc::default(),
        }))
    }
}

impl PartialRun {
    /// Sends these feeds, and calls `done` with these fetches. An invalid call is an error at once, and changes nothing. The first call
    /// decides whether the step is traced; the last one gets the trace.
    pub fn step(
        &self,
        feeds: Vec<(String, Tensor)>,
        fetches: &[String],
        trace: bool,
        done: OnFetched,
    ) -> Result<()> {
        let last = self.claim(&feeds, fetches)?;
        let rendezvous = self.rendezvous.get_or_init(|| self.begin(trace));
        for (name, value) in feeds {
            // If the step has failed, its fetches report it.
            let _ = rendezvous.send(&key(&name), Parcel::live(value));
        }
        self.receive(fetches, last, done);
        Ok(())
    }

    /// Starts the step, which waits for feeds sent to the rendezvous.
    fn begin(&self, trace: bool) -> Arc<dyn Rendezvous> {
        let inner = &self.session.inner;
        let step = inner.new_rendezvous(&self.compiled);
        let (rendezvous, progress) = (step.rendezvous.clone(), self.progress.clone());
        let arrived = self.arrived.clone();
        self.fetches.keys().for_each(|name| self.forward(&*rendezvous, key(name)));
        let done = Box::new(move |r: Result<(Vec<Tensor>, RunMetadata)>| {
            let ended = r.map(|(_, metadata)| metadata);
            let waiting = {
                let mut p = lock(&progress);
                p.ended = Some(ended.clone());
                std::mem::take(&mut p.at_end)
            };
            waiting.into_iter().for_each(|w| w(ended.clone()));
            // A step that failed at its start did not abort it: the client would wait for ever.
            if let Err(e) = ended {
                arrived.abort(e);
            }
        });
        let options = RunOptions { trace, cancel: Some(self.cancel.clone()), ..Default::default() };
        inner.start(&self.compiled, Vec::new(), &options, Some(step), done);
        rendezvous
    }

    /// Receives a fetch when it is computed.
    fn forward(&self, rendezvous: &dyn Rendezvous, key: String) {
        let (arrived, name) = (self.arrived.clone(), key.clone());
        let received = move |parcel: Result<Parcel>| {
            if let Err(e) = parcel.and_then(|parcel| arrived.send(&name, parcel)) {
                arrived.abort(e);
            }
        };
        rendezvous.recv(&key, Box::new(received));
    }

    /// Cancels the step.
    pub fn cancellation(&self) -> &Arc<Cancellation> {
        &self.cancel
    }

    /// Validates a whole call, then marks its feeds and fetches as done. True: none is left.
    fn claim(&self, feeds: &[(String, Tensor)], fetches: &[String]) -> Result<bool> {
        let mut p = lock(&self.progress);
        let (mut fed, mut fetched) = (p.fed.clone(), p.fetched.clone());
        for (name, value) in feeds {
            let (output, info) = self
                .feeds
                .get(name)
                .ok_or_else(|| invalid!("The feed {name} was not specified in partial_run_setup."))?;
            info.check(value)?;
            if !fed.insert(*output) {
                return Err(invalid!("The feed {name} has already been fed."));
            }
        }
        for name in fetches {
            let output = self
                .fetches
                .get(name)
                .ok_or_else(|| invalid!("The fetch {name} was not specified in partial_run_setup."))?;
            if !fetched.insert(*output) {
                return Err(invalid!("The fetch {name} has already been fetched."));
            }
            if self.needs_more(*output, &fed) {
                return Err(invalid!(
                    "Fetch {name} can't be computed from the feeds that have been fed so far."
                ));
            }
        }
        let last = fed.len() == self.feeds.len() && fetched.len() == self.fetches.len();
        (p.fed, p.fetched) = (fed, fetched);
        Ok(last)
    }

    /// Whether a fetch depends on a feed that has not been fed.
    fn needs_more(&self, fetch: Output, fed: &HashSet<Output>) -> bool {
        let feeds: HashSet<Output> = self.feeds.values().map(|f| f.0).collect();
        self.session.with_graph(|g| {
            let (mut stack, mut seen) = (vec![fetch], HashSet::new());
            while let Some(o) = stack.pop() {
                if feeds.contains(&o) {
                    if !fed.contains(&o) {
                        return true;
                    }
                } else if seen.insert(o.node) {
                    let node = g.node(o.node);
                    stack.extend(node.inputs.iter().copied());
                    stack.extend(node.control.iter().map(|c| c.output(0)));
                }
            }
            false
        })
    }

    fn receive(&self, fetches: &[String], last: bool, done: OnFetched) {
        let progress = self.progress.clone();
        let arrived = move |values: Result<Vec<Option<Tensor>>>| {
            let values = match values {
                Ok(values) => values.into_iter().collect::<Option<Vec<_>>>().ok_or_else(dead),
                // The step's own error has the cause; an aborted receive does not.
                Err(e) => return at_end(&progress, move |r| done(Err(r.err().unwrap_or(e)))),
            };
            match values {
                Ok(values) if last => at_end(&progress, move |r| done(r.map(|m| (values, Some(m))))),
                values => done(values.map(|v| (v, None))),
            }
        };
        if fetches.is_empty() {
            return arrived(Ok(Vec::new()));
        }
        let missing = (vec![None; fetches.len()], fetches.len(), Some(arrived));
        let waiting = Arc::new(Mutex::new(missing));
        for (i, name) in fetches.iter().enumerate() {
            let waiting = waiting.clone();
            let received = move |parcel: Result<Parcel>| {
                let mut w = lock(&waiting);
                let failed = match parcel {
                    Ok(p) => {
                        w.0[i] = p.value;
                        None
                    }
                    Err(e) => Some(e),
                };
                w.1 -= 1;
                if w.1 > 0 && failed.is_none() {
                    return;
                }
                let (values, arrived) = (std::mem::take(&mut w.0), w.2.take());
                drop(w);
                let Some(arrived) = arrived else { return };
                arrived(failed.map_or(Ok(values), Err));
            };
            self.arrived.recv(&key(name), Box::new(received));
        }
    }
}

fn dead() -> Error {
    internal("Failed to fetch outputs: the branch that computes one of them was not taken")
}

/// Calls `done` when the step has ended, at once if it has.
fn at_end(progress: &Mutex<Progress>, done: impl FnOnce(Result<RunMetadata>) + Send + 'static) {
    let mut p = lock(progress);
    match p.ended.clone() {
        Some(ended) => {
            drop(p);
            done(ended);
        }
        None => p.at_end.push(Box::new(done)),
    }
}

impl Drop for PartialRun {
    fn drop(&mut self) {
        self.cancel.cancel(cancelled("the partial run was given up"));
    }
}
