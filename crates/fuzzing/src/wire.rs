//! Input from peers: connections, headers, messages.

use crate::graphs::registry;
use std::sync::OnceLock;
use thalweg_dist::TaskSpec;
use thalweg_dist::cluster::{ClusterSpec, TfConfig};
use thalweg_dist::fuzzing::{self, Bench};
use thalweg_proto::{CreateSessionRequest, text};

/// The graph of the steps: a placeholder, sums, a variable, a queue.
const GRAPH: &str = "
    node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 3 } } } }
    node { name: 'y' op: 'AddV2' input: 'x' input: 'c' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'v' op: 'VariableV2' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape {} } } }
    node { name: 'init' op: 'Assign' input: 'v' input: 'c' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'q' op: 'FIFOQueueV2' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }
    node { name: 'put' op: 'QueueEnqueueV2' input: 'q' input: 'y' attr { key: 'Tcomponents' value { list { type: DT_FLOAT } } } }
    node { name: 'get' op: 'QueueDequeueV2' input: 'q' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }";

fn bench() -> &'static Bench {
    static BENCH: OnceLock<Bench> = OnceLock::new();
    BENCH.get_or_init(|| {
        let graph_def = text::parse_graph_def(GRAPH).ok();
        let session = CreateSessionRequest { graph_def, ..Default::default() };
        Bench::new(registry().clone(), session).expect("a server starts")
    })
}

/// The bytes of a connection, from the client's preface on: the server's state machine without a socket.
pub fn http2(bytes: &[u8]) {
    bench().connection(bytes);
}

/// HPACK header blocks, in sequence on one connection.
pub fn hpack(bytes: &[u8]) {
    fuzzing::header_blocks(bytes);
}

/// A RunStepRequest to an existing session.
pub fn run_step(bytes: &[u8]) {
    bench().run_step(bytes);
}

/// A CreateSessionRequest: a GraphDef and a ConfigProto.
pub fn create_session(bytes: &[u8]) {
    bench().create_session(bytes);
}

/// A RegisterGraphRequest to an existing session.
pub fn register_graph(bytes: &[u8]) {
    bench().register_graph(bytes);
}

pub fn server_def(bytes: &[u8]) {
    let _ = TaskSpec::read(bytes.to_vec());
}

pub fn tf_config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = ClusterSpec::parse(text);
    if let Ok(read) = TfConfig::parse(text) {
        assert!(TfConfig::parse(&read.to_json()).is_ok(), "not written as it was read");
    }
}
