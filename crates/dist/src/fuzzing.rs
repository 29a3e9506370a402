//! Entry points without sockets, for fuzzers: bytes of a connection, header blocks, messages of calls.

use crate::auth::Origin;
use crate::net::PeerLimits;
use crate::net::grpc::MessageReader;
use crate::net::http2::frame::{self, FrameHeader};
use crate::net::http2::hpack::Decoder;
use crate::net::http2::{FrameReader, FrameWriter, Head};
use crate::net::server::calls::Calls;
use crate::net::server::peer::Peer;
use crate::net::server::service::Call;
use crate::net::server::unread_responses::UnreadResponses;
use crate::service::Security;
use crate::service::server::{Server, ServerOptions};
use bytes::Bytes;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use thalweg_core::budget::Pool;
use thalweg_core::error::{Result, internal};
use thalweg_core::registry::Registry;
use thalweg_core::sync::lock;
use thalweg_proto::{
    CreateSessionRequest, CreateSessionResponse, Message, RegisterGraphRequest, RegisterGraphResponse,
    RunGraphRequest, RunStepRequest, decode,
};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;

/// A task to fuzz. Its graphs have no file access, and it connects to nobody.
pub struct Bench {
    server: Server,
    runtime: Mutex<Runtime>,
    session: String,
}

/// Timeout of a call: less than the fuzzers' timeout for hangs.
const LIMIT: Duration = Duration::from_millis(100);

/// Timeout of CreateSession, even on a busy machine.
const SETUP: Duration = Duration::from_secs(60);

impl Bench {
    /// With a session of this graph.
    pub fn new(registry: Arc<Registry>, session: CreateSessionRequest) -> Result<Bench> {
        let security =
            Security { files: Some(Default::default()), connect: Some(Vec::new()), ..Default::default() };
        let options = ServerOptions { security, max_sessions: 8, threads: 1, ..Default::default() };
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let server = Server::start(registry, options)?;
        let mut bench = Bench { server, runtime: Mutex::new(runtime), session: String::new() };
        let made =
            bench.call_within(SETUP, "/tensorflow.MasterService/CreateSession", session.encode_to_vec());
        let made: Option<CreateSessionResponse> = made.and_then(|bytes| decode(bytes).ok());
        bench.session = made.ok_or_else(|| internal("no session was made"))?.session_handle;
        Ok(bench)
    }

    fn peer(&self) -> Peer {
        let (incoming, unread) = (Pool::new(64 << 20), Pool::new(64 << 20));
        Peer {
            service: self.server.services().clone(),
            gate: self.server.services().gate().clone(),
            log: Default::default(),
            limits: PeerLimits { message: 16 << 20, calls: 100, ..Default::default() },
            incoming: incoming.account(),
            unread: Arc::new(UnreadResponses::new(&unread)),
            connection: Arc::default(),
            origin: Origin { address: SocketAddr::from(([127, 0, 0, 1], 1)), certificate: None },
        }
    }

    /// Bytes from a client. The first byte gives the size of the pieces.
    pub fn connection(&self, bytes: &[u8]) {
        let Some((size, rest)) = bytes.split_first() else { return };
        lock(&self.runtime).block_on(async {
            let (finished, mut answered) = mpsc::unbounded_channel();
            let mut calls = Calls::new(self.peer(), finished);
            let (mut reading, mut writer) = (FrameReader::new(true), FrameWriter::default());
            for piece in rest.chunks(usize::from(*size).pow(2) + 1) {
                let read = reading.feed(piece, &mut calls, &mut writer);
                tokio::task::yield_now().await;
                while let Ok((stream, answer)) = answered.try_recv() {
                    calls.respond(&mut writer, stream, answer);
                }
                writer.write_frames();
                check_frames(&writer.out.drained());
                if read.is_err() {
                    return;
                }
            }
        });
    }

    fn call(&self, path: &'static str, message: Vec<u8>) -> Option<Vec<u8>> {
        self.call_within(LIMIT, path, message)
    }

    /// A call with this message; its response if it succeeded.
    fn call_within(&self, limit: Duration, path: &'static str, message: Vec<u8>) -> Option<Vec<u8>> {
        let (peer, mut head) = (self.peer(), Head::default());
        head.path = Some(Bytes::from_static(path.as_bytes()));
        let (caller, route) = peer.admit(&head).ok()?;
        let mut collecting = MessageReader::new(route.contents, 16 << 20);
        let framed = [&[0][..], &(message.len() as u32).to_be_bytes(), &message].concat();
        for piece in framed.chunks(70_001) {
            collecting.push(piece).ok()?;
        }
        let answer = peer.service.call(Call {
            path: route.path,
            caller,
            origin: peer.origin,
            connection: peer.connection,
            timeout: Some(limit),
            message: collecting.finish()?,
            max_answer: peer.limits.message,
        });
        let answered = lock(&self.runtime).block_on(async { tokio::time::timeout(2 * limit, answer).await });
        let reply = answered.ok()?.ok()?;
        Some(reply.pieces.iter().flatten().skip(5).copied().collect())
    }

    pub fn run_step(&self, bytes: &[u8]) {
        let Ok(mut request) = decode::<RunStepRequest>(bytes.to_vec()) else { return };
        request.session_handle = self.session.clone();
        request.request_id = 0;
        request.options.get_or_insert_default().timeout_in_ms = LIMIT.as_millis() as i64;
        self.call("/tensorflow.MasterService/RunStep", request.encode_to_vec());
    }

    pub fn create_session(&self, bytes: &[u8]) {
        if decode::<CreateSessionRequest>(bytes.to_vec()).is_ok() {
            self.call("/tensorflow.MasterService/CreateSession", bytes.to_vec());
        }
    }

    /// Registers and runs a graph.
    pub fn register_graph(&self, bytes: &[u8]) {
        let Ok(mut request) = decode::<RegisterGraphRequest>(bytes.to_vec()) else { return };
        (request.session_handle, request.create_worker_session_called) = (String::new(), false);
        let made = self.call("/tensorflow.WorkerService/RegisterGraph", request.encode_to_vec());
        let made: Option<RegisterGraphResponse> = made.and_then(|bytes| decode(bytes).ok());
        let Some(made) = made else { return };
        let run = RunGraphRequest { graph_handle: made.graph_handle, step_id: 1, ..Default::default() };
        self.call("/tensorflow.WorkerService/RunGraph", run.encode_to_vec());
    }
}

/// Length-prefixed header blocks of one connection.
pub fn header_blocks(mut bytes: &[u8]) {
    let mut decoder = Decoder::default();
    while let Some((length, rest)) = bytes.split_first() {
        let (block, after) = rest.split_at(rest.len().min(usize::from(*length)));
        if decoder.decode(block).is_err() {
            return;
        }
        bytes = after;
    }
}

/// Our output is whole frames of types that a server may send.
fn check_frames(mut bytes: &[u8]) {
    while let Some(head) = bytes.first_chunk::<{ frame::HEAD }>() {
        let head = FrameHeader::parse(head);
        assert!(head.kind <= frame::CONTINUATION && head.kind != frame::PUSH_PROMISE, "{head:?}");
        assert!(head.length <= 16_384 || head.kind == frame::DATA, "{head:?}");
        assert!(bytes.len() >= frame::HEAD + head.length, "a frame was cut short");
        bytes = &bytes[frame::HEAD + head.length..];
    }
    assert!(bytes.is_empty(), "half a frame");
}
