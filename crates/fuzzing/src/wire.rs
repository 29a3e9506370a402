//! What peers say: connections, headers, messages.

use thalweg_dist::TaskSpec;
use thalweg_dist::cluster::{ClusterSpec, TfConfig};
use thalweg_dist::fuzzing;

/// Bytes of a connection, from the client's preface on: the server's state machine without a socket.
pub fn http2(bytes: &[u8]) {
    fuzzing::connection(bytes);
}

/// Header blocks, one after the other on one connection.
pub fn hpack(bytes: &[u8]) {
    fuzzing::header_blocks(bytes);
}

/// A RunStepRequest to a session that is there.
pub fn run_step(bytes: &[u8]) {
    fuzzing::run_step(bytes);
}

/// A CreateSessionRequest: a GraphDef and a ConfigProto.
pub fn create_session(bytes: &[u8]) {
    fuzzing::create_session(bytes);
}

/// A RegisterGraphRequest to a session that is there.
pub fn register_graph(bytes: &[u8]) {
    fuzzing::register_graph(bytes);
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
