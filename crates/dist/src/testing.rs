//! Shared by tests of several modules: a task without a server, and parsed frames.

use crate::auth::{Gate, Origin};
use crate::cluster::{ClusterSpec, Connector, Membership};
use crate::log::Log;
use crate::master::Master;
use crate::master::sessions::Limits;
use crate::net::PeerLimits;
use crate::net::client_connection::KeepAliveOptions;
use crate::net::http2::frame::{self, FrameHeader};
use crate::net::http2::hpack::{Decoder, Encoder};
use crate::net::http2::testing::drained;
use crate::net::http2::{FrameWriter, Head};
use crate::net::server::peer::Peer;
use crate::net::server::unread_responses::UnreadResponses;
use crate::service::methods::Services;
use crate::worker::task::Task;
use bytes::BytesMut;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use thalweg_core::budget::Pool;
use thalweg_runtime::SessionOptions;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

/// The master of a single task without a listener.
pub fn master() -> Master {
    let options = SessionOptions { threads: 1, ..Default::default() };
    let task = Task::new(Arc::new(thalweg_ops::registry()), options).unwrap();
    let keep_alive = KeepAliveOptions { interval: Duration::from_secs(1), timeout: Duration::from_secs(1) };
    let connector =
        Connector::new(Vec::new(), keep_alive, Default::default(), Default::default(), Log::default());
    let home = Membership::of(&connector, task.name.clone(), &ClusterSpec::default()).unwrap();
    let limits = Limits { idle: None, sessions: 100, share: 100 };
    Master::new(task, connector, home, limits, Log::default())
}

/// Both services of that task, no authentication.
pub fn services() -> Arc<Services> {
    Arc::new(Services::new(master(), Arc::new(Gate::new(None, Log::default()))))
}

/// A client of that task, alone on its connection and in its pools.
pub fn peer(services: &Arc<Services>, limits: PeerLimits) -> Peer {
    Peer {
        service: services.clone(),
        gate: services.gate().clone(),
        log: Log::default(),
        limits,
        incoming: Pool::new(limits.unfinished).account(),
        unread: Arc::new(UnreadResponses::new(&Pool::new(limits.unread))),
        connection: Arc::default(),
        origin: Origin { address: SocketAddr::from(([127, 0, 0, 1], 1)), certificate: None },
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    /// The first 32 bits of the payload.
    pub fn number(&self) -> u32 {
        u32::from_be_bytes(self.payload[..4].try_into().unwrap())
    }

    pub fn is_reset(&self, stream: u32, code: u32) -> bool {
        self.kind == frame::RST_STREAM && self.stream == stream && self.number() == code
    }
}

/// The frames to be written.
pub fn frames(writer: &mut FrameWriter) -> Vec<Frame> {
    writer.write_frames();
    let all = drained(writer).into_iter();
    all.map(|(kind, flags, stream, payload)| Frame { kind, flags, stream, payload }).collect()
}

/// A head of these fields.
pub fn head(fields: &[(&'static str, &str)]) -> Head {
    let mut block = BytesMut::new();
    let mut encoder = Encoder::default();
    fields.iter().for_each(|(name, value)| encoder.field(&mut block, name, value.as_bytes()));
    Decoder::default().decode(&block).unwrap()
}

/// The head of a call.
pub fn call_head(path: &str) -> Head {
    head(&[(":method", "POST"), (":scheme", "http"), (":path", path), ("content-type", "application/grpc")])
}

/// A length-prefixed message.
pub fn framed(message: &[u8]) -> Vec<u8> {
    [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat()
}

/// A fake task: accepts one connection, and reads its calls.
pub struct Played {
    listener: TcpListener,
    connection: Option<(TcpStream, Decoder)>,
}

impl Played {
    pub async fn new() -> Played {
        Played { listener: TcpListener::bind("127.0.0.1:0").await.unwrap(), connection: None }
    }

    /// Links to it, the only other task; they end with the connector.
    pub fn member(&self) -> (Connector, Arc<Membership>) {
        let keep_alive = KeepAliveOptions { interval: Duration::MAX, timeout: Duration::MAX };
        let connector =
            Connector::new(Vec::new(), keep_alive, Default::default(), Default::default(), Log::default());
        let address = self.listener.local_addr().unwrap();
        let spec = ClusterSpec::parse(&format!(r#"{{"ps": ["{address}"]}}"#)).unwrap();
        let us = Membership::of(&connector, "/job:worker/replica:0/task:0".into(), &spec).unwrap();
        (connector, Arc::new(us))
    }

    /// Method and message of the next call.
    pub async fn call(&mut self) -> (String, Vec<u8>) {
        if self.connection.is_none() {
            let mut socket = self.listener.accept().await.unwrap().0;
            socket.read_exact(&mut [0; frame::PREFACE.len()]).await.unwrap();
            self.connection = Some((socket, Decoder::default()));
        }
        let (socket, decoder) = self.connection.as_mut().unwrap();
        let mut method = String::new();
        loop {
            let mut head = [0; frame::HEAD];
            socket.read_exact(&mut head).await.unwrap();
            let head = FrameHeader::parse(&head);
            let mut payload = vec![0; head.length];
            socket.read_exact(&mut payload).await.unwrap();
            match head.kind {
                frame::HEADERS => {
                    let path = decoder.decode(&payload).unwrap().path.unwrap();
                    method = String::from_utf8(path.to_vec()).unwrap().rsplit('/').next().unwrap().into();
                }
                frame::DATA => return (method, payload[5..].to_vec()),
                _ => {}
            }
        }
    }
}
