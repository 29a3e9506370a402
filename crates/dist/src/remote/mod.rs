//! A session on another task, Thalweg's or TensorFlow's: a client of `MasterService`.

mod channel;

pub use channel::{Channel, Limits};

use crate::net::credentials::Credentials;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Result, failed_precondition, internal};
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;
use thalweg_graph::Graph;
use thalweg_graph::convert::{tensor_from_proto, tensor_to_proto};
use thalweg_proto::run_options::TraceLevel;
use thalweg_proto::{
    CloseSessionRequest, CloseSessionResponse, ConfigProto, CreateSessionRequest, CreateSessionResponse,
    ExtendSessionRequest, ExtendSessionResponse, GraphDef, ListDevicesRequest, ListDevicesResponse, Message,
    Name, NamedTensorProto, ResetRequest, ResetResponse, RunMetadata, RunOptions as RunOptionsProto,
    RunStepRequest, RunStepResponse,
};

const SERVICE: &str = "/tensorflow.MasterService/";

/// Added to a step's timeout for the response: the task should report the timeout first.
const GRACE: Duration = Duration::from_secs(5);

pub struct RemoteSession {
    channel: Channel,
    handle: String,
    sent: Mutex<Sent>,
}

/// What was sent of our graph.
struct Sent {
    version: i64,
    nodes: usize,
    /// How many of the rewritten nodes were sent in their new form.
    rewritten: usize,
}

/// RunOptions of a remote step.
#[derive(Clone, Default)]
pub struct RemoteRunOptions {
    pub timeout: Option<Duration>,
    pub trace: bool,
    /// Cancels the run from another thread.
    pub cancel: Option<Arc<Cancellation>>,
}

impl RemoteSession {
    /// Opens a session on the task at `grpc://host:port`, or `grpcs://host:port`, with this graph and the credentials of the
    /// environment.
    pub fn connect(target: &str, graph: &Graph, config: ConfigProto) -> Result<RemoteSession> {
        RemoteSession::connect_as(&Credentials::from_env(), target, graph, config)
    }

    pub fn connect_as(
        credentials: &Credentials,
        target: &str,
        graph: &Graph,
        config: ConfigProto,
    ) -> Result<RemoteSession> {
        let channel = Channel::connect(target, credentials)?;
        let request = CreateSessionRequest {
            graph_def: Some(graph.to_def(Default::default())?),
            config: Some(config),
            target: target.to_string(),
        };
        let made: CreateSessionResponse = call(&channel, "CreateSession", &request)?;
        let sent =
            Sent { version: made.graph_version, nodes: graph.len(), rewritten: graph.rewritten().len() };
        Ok(RemoteSession { channel, handle: made.session_handle, sent: Mutex::new(sent) })
    }

    /// ExtendSession with the nodes of `graph` not sent yet.
    pub fn extend(&self, graph: &Graph) -> Result<()> {
        let mut sent = lock(&self.sent);
        if graph.len() <= sent.nodes {
            return Ok(());
        }
        let rewritten = graph.rewritten().iter().skip(sent.rewritten);
        if let Some(id) = rewritten.copied().find(|id| id.at() < sent.nodes) {
            return Err(graph.node(id).blame(failed_precondition(
                "gradients have been taken through this call since the task got it, and nodes there cannot be changed: \
                 open the session after taking the gradients",
            )));
        }
        let whole = graph.to_def(Default::default())?;
        let new = GraphDef { node: whole.node.into_iter().skip(sent.nodes).collect(), ..Default::default() };
        let request = ExtendSessionRequest {
            session_handle: self.handle.clone(),
            graph_def: Some(GraphDef { versions: whole.versions, library: whole.library, ..new }),
            current_graph_version: sent.version,
        };
        let answer: ExtendSessionResponse = call(&self.channel, "ExtendSession", &request)?;
        *sent = Sent {
            version: answer.new_graph_version,
            nodes: graph.len(),
            rewritten: graph.rewritten().len(),
        };
        Ok(())
    }

    /// One step: the values of the fetches, in order, and RunMetadata if it was traced.
    pub fn run(
        &self,
        feeds: &[(String, Tensor)],
        fetches: &[String],
        targets: &[String],
        options: &RemoteRunOptions,
    ) -> Result<(Vec<Tensor>, RunMetadata)> {
        let feed = |(name, value): &(String, Tensor)| -> Result<NamedTensorProto> {
            Ok(NamedTensorProto { name: name.clone(), tensor: Some(tensor_to_proto(value)?) })
        };
        let millis = options.timeout.map_or(0, |t| i64::try_from(t.as_millis()).unwrap_or(i64::MAX).max(1));
        let trace = if options.trace { TraceLevel::FullTrace } else { TraceLevel::NoTrace };
        let request = RunStepRequest {
            session_handle: self.handle.clone(),
            feed: feeds.iter().map(feed).collect::<Result<_>>()?,
            fetch: fetches.to_vec(),
            target: targets.to_vec(),
            options: Some(RunOptionsProto {
                timeout_in_ms: millis,
                trace_level: trace as i32,
                ..Default::default()
            }),
            ..Default::default()
        };
        let timeout = options.timeout.map(|t| t.saturating_add(GRACE));
        let limits = Limits { timeout, cancel: options.cancel.clone() };
        let answer: RunStepResponse = self.channel.call(&format!("{SERVICE}RunStep"), &request, &limits)?;
        let mut values = Vec::with_capacity(fetches.len());
        for name in fetches {
            // The response names its tensors; a duplicate fetch may come once.
            let found = answer.tensor.iter().find(|t| same_tensor(&t.name, name));
            let tensor = found.and_then(|t| t.tensor.as_ref());
            let tensor = tensor.ok_or_else(|| {
                internal(format_args!("{} did not answer '{name}'", self.channel.address()))
            })?;
            values.push(tensor_from_proto(tensor).map_err(|e| e.context(format_args!("fetch '{name}'")))?);
        }
        Ok((values, answer.metadata.unwrap_or_default()))
    }

    /// Names of the session's devices.
    pub fn devices(&self) -> Result<Vec<String>> {
        let request = ListDevicesRequest { session_handle: self.handle.clone() };
        let answer: ListDevicesResponse = call(&self.channel, "ListDevices", &request)?;
        Ok(answer.local_device.into_iter().chain(answer.remote_device).map(|d| d.name).collect())
    }

    pub fn close(&self) -> Result<()> {
        let request = CloseSessionRequest { session_handle: self.handle.clone() };
        let _: CloseSessionResponse = call(&self.channel, "CloseSession", &request)?;
        Ok(())
    }

    /// Clears these containers of the task at `target`, and closes its sessions.
    pub fn reset(target: &str, containers: &[String]) -> Result<()> {
        RemoteSession::reset_as(&Credentials::from_env(), target, containers)
    }

    pub fn reset_as(credentials: &Credentials, target: &str, containers: &[String]) -> Result<()> {
        let request = ResetRequest { container: containers.to_vec(), ..Default::default() };
        let _: ResetResponse = call(&Channel::connect(target, credentials)?, "Reset", &request)?;
        Ok(())
    }
}

/// `x` is `x:0`.
fn same_tensor(a: &str, b: &str) -> bool {
    a.strip_suffix(":0").unwrap_or(a) == b.strip_suffix(":0").unwrap_or(b)
}

fn call<A: Message, B: Message + Name + Default + Send + 'static>(
    channel: &Channel,
    method: &str,
    request: &A,
) -> Result<B> {
    channel.call(&format!("{SERVICE}{method}"), request, &Limits::default())
}

#[cfg(test)]
mod tests;
