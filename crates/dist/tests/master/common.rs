//! A server in this process, and a client of its service.

use crate::client::Client;
use std::sync::Arc;
use thalweg_core::registry::Registry;
use thalweg_core::tensor::Tensor;
use thalweg_dist::{Server, ServerOptions};
use thalweg_graph::convert::{tensor_from_proto, tensor_to_proto};
use thalweg_proto::*;
use tonic::Status;

pub struct Bench {
    pub server: Server,
    pub client: Client,
}

pub async fn bench() -> Bench {
    bench_with(ServerOptions { drain: std::time::Duration::ZERO, ..Default::default() }).await
}

pub async fn bench_with(options: ServerOptions) -> Bench {
    bench_of(thalweg_ops::registry(), options).await
}

/// With these ops.
pub async fn bench_of(registry: Registry, options: ServerOptions) -> Bench {
    let server = Server::start(Arc::new(registry), options).unwrap();
    let client = Client::connect(&server).await;
    Bench { server, client }
}

pub fn graph(text: &str) -> GraphDef {
    text::parse_graph_def(text).unwrap()
}

pub fn float(name: &str, value: f32) -> NamedTensorProto {
    NamedTensorProto { name: name.into(), tensor: Some(tensor_to_proto(&Tensor::scalar(value)).unwrap()) }
}

pub fn value(p: &TensorProto) -> f32 {
    tensor_from_proto(p).unwrap().to_scalar().unwrap()
}

pub fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| n.to_string()).collect()
}

impl Bench {
    /// Another client.
    pub async fn another(&self) -> Client {
        Client::connect(&self.server).await
    }

    pub async fn create(&mut self, text: &str) -> String {
        self.create_with(text, ConfigProto::default()).await.unwrap()
    }

    pub async fn create_with(&mut self, text: &str, config: ConfigProto) -> Result<String, Status> {
        let request = CreateSessionRequest {
            graph_def: Some(graph(text)),
            config: Some(config),
            target: String::new(),
        };
        self.client.create_session(request).await.map(|r| r.into_inner().session_handle)
    }

    pub async fn extend(&mut self, session: &str, text: &str, version: i64) -> Result<i64, Status> {
        let request = ExtendSessionRequest {
            session_handle: session.into(),
            graph_def: Some(graph(text)),
            current_graph_version: version,
        };
        self.client.extend_session(request).await.map(|r| r.into_inner().new_graph_version)
    }

    /// One step; errors are in the body.
    pub async fn run(
        &mut self,
        session: &str,
        feed: &[NamedTensorProto],
        fetch: &[&str],
        target: &[&str],
    ) -> RunStepResponse {
        let request = step(session, feed, fetch, target);
        self.client.run_step(request).await.unwrap().into_inner()
    }

    pub async fn fetch(&mut self, session: &str, tensor: &str) -> f32 {
        let r = self.run(session, &[], &[tensor], &[]).await;
        assert_eq!(r.status_code, 0, "{}", r.status_error_message);
        value(r.tensor[0].tensor.as_ref().unwrap())
    }

    /// Waits until so many requests are running.
    pub async fn until_active(&self, requests: usize) {
        while self.server.active_requests() != requests {
            tokio::task::yield_now().await;
        }
    }
}

pub fn step(session: &str, feed: &[NamedTensorProto], fetch: &[&str], target: &[&str]) -> RunStepRequest {
    RunStepRequest {
        session_handle: session.into(),
        feed: feed.to_vec(),
        fetch: names(fetch),
        target: names(target),
        store_errors_in_response_body: true,
        ..Default::default()
    }
}

pub const CONSTANT: &str = "node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
    attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } } }";

/// `y = x + c`, for a placeholder x.
pub const SUM: &str = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'y' op: 'AddV2' input: 'x' input: 'c' attr { key: 'T' value { type: DT_FLOAT } } }";

/// A variable `v`, its initialiser `init` (to 3) and `plus`, which adds 3 to it.
pub const VARIABLE: &str = "
    node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape {} } } }
    node { name: 'init' op: 'Assign' input: 'v' input: 'c' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'plus' op: 'AssignAdd' input: 'v' input: 'c' attr { key: 'T' value { type: DT_FLOAT } } }";

/// A queue with `put` (of c), `get` and `size`.
pub const QUEUE: &str = "
    node { name: 'q' op: 'FIFOQueueV2' attr { key: 'component_types' value { list { type: DT_FLOAT } } }
           attr { key: 'shapes' value { list { shape {} } } } }
    node { name: 'put' op: 'QueueEnqueueV2' input: 'q' input: 'c' attr { key: 'Tcomponents' value { list { type: DT_FLOAT } } } }
    node { name: 'get' op: 'QueueDequeueV2' input: 'q' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }
    node { name: 'close' op: 'QueueCloseV2' input: 'q' }
    node { name: 'n' op: 'QueueSizeV2' input: 'q' }
    node { name: 'size' op: 'Cast' input: 'n' attr { key: 'SrcT' value { type: DT_INT32 } } attr { key: 'DstT' value { type: DT_FLOAT } } }";
