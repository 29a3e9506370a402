//! Whole connections with a fake client. Timeouts use tokio's paused clock, which advances when all tasks wait.

use super::*;
use crate::net::PeerLimits;
use crate::net::http2::frame::{FrameHeader, HEAD, PREFACE, put_settings};
use crate::net::http2::{FrameWriter, Head};
use crate::net::server::slots::ConnectionSlots;
use crate::net::server::turns::Lines;
use crate::testing::{Frame, framed, peer, services};
use bytes::BytesMut;
use std::net::IpAddr;
use thalweg_proto::{
    CreateSessionRequest, CreateSessionResponse, ListDevicesRequest, Message, RunStepRequest, decode, text,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const PATIENCE: Duration = Duration::from_secs(10);
/// Tolerance of the timeout.
const LATE: Duration = Duration::from_secs(1);

struct Bench {
    peer: Peer,
    client: Client,
    /// The server's end, until it is served.
    socket: TcpStream,
    phase: watch::Sender<Phase>,
}

/// A fake client.
struct Client {
    socket: TcpStream,
    writer: FrameWriter,
}

fn places() -> Places {
    Lines::new().places([127, 0, 0, 1].into())
}

impl Bench {
    async fn new(settings: &[(u16, u32)]) -> Bench {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (client, socket) = tokio::join!(TcpStream::connect(address), listener.accept());
        let mut client = Client { socket: client.unwrap(), writer: FrameWriter::default() };
        let mut hello = BytesMut::from(PREFACE);
        put_settings(&mut hello, settings);
        client.socket.write_all(&hello).await.unwrap();
        let peer = peer(&services(), PeerLimits { stall_timeout: PATIENCE, ..Default::default() });
        Bench { peer, client, socket: socket.unwrap().0, phase: watch::channel(Phase::Serving).0 }
    }

    /// Bytes sent so far are in the socket before it is served, so the paused clock does not outrun them.
    fn serve(self) -> (impl Future<Output = ()>, Client, watch::Sender<Phase>, ConnectionSlot) {
        let slots = ConnectionSlots::new(4);
        let slot = |n| slots.take(IpAddr::from([127, 0, 0, n])).unwrap();
        let (peer, stopped) = (self.peer, self.phase.subscribe());
        let served = serve(self.socket.into(), peer, slot(1), places(), stopped);
        (served, self.client, self.phase, slot(2))
    }
}

impl Client {
    /// A call; without `end` it stays incomplete.
    async fn call(&mut self, stream: u32, method: &str, body: &[u8], end: bool) {
        let path = format!("/tensorflow.MasterService/{method}");
        self.writer.headers(stream, false, |encoder, out| {
            encoder.field(out, ":method", b"POST");
            encoder.field(out, ":scheme", b"http");
            encoder.passing(out, ":path", path.as_bytes());
            encoder.field(out, "content-type", b"application/grpc");
        });
        let out = &mut self.writer.out.small;
        frame::put_frame_header(out, body.len(), frame::DATA, u8::from(end), stream);
        out.extend_from_slice(body);
        self.socket.write_all(&self.writer.out.drained()).await.unwrap();
    }

    /// The next frame of these kinds; `None` at end of file.
    async fn next(&mut self, kinds: &[u8]) -> Option<Frame> {
        loop {
            let mut head = [0; HEAD];
            self.socket.read_exact(&mut head).await.ok()?;
            let head = FrameHeader::parse(&head);
            let mut payload = vec![0; head.length];
            self.socket.read_exact(&mut payload).await.ok()?;
            if kinds.contains(&head.kind) {
                return Some(Frame { kind: head.kind, flags: head.flags, stream: head.stream, payload });
            }
        }
    }

    /// The next response message.
    async fn message(&mut self) -> Vec<u8> {
        self.next(&[frame::DATA]).await.unwrap().payload[5..].to_vec()
    }

    /// A step blocked on an empty queue.
    async fn wait_for_nothing(&mut self, stream: u32) {
        let queue = "
            node { name: 'q' op: 'FIFOQueueV2' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }
            node { name: 'get' op: 'QueueDequeueV2' input: 'q'
                   attr { key: 'component_types' value { list { type: DT_FLOAT } } } }";
        let graph_def = Some(text::parse_graph_def(queue).unwrap());
        let create = CreateSessionRequest { graph_def, ..Default::default() };
        self.call(stream, "CreateSession", &framed(&create.encode_to_vec()), true).await;
        let made: CreateSessionResponse = decode(self.message().await).unwrap();
        let step = RunStepRequest {
            session_handle: made.session_handle,
            fetch: vec!["get:0".into()],
            ..Default::default()
        };
        self.call(stream + 2, "RunStep", &framed(&step.encode_to_vec()), true).await;
    }
}

fn devices() -> Vec<u8> {
    framed(&ListDevicesRequest::default().encode_to_vec())
}

/// Elapsed time of tokio's clock.
async fn timed(work: impl Future) -> Duration {
    let began = Instant::now();
    work.await;
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_asks_for_nothing_is_let_go_when_patience_ends() {
    let (served, _client, _phase, _) = Bench::new(&[]).await.serve();
    let took = timed(served).await;
    assert!((PATIENCE..PATIENCE + LATE).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_has_asked_for_something_may_stay() {
    let mut b = Bench::new(&[]).await;
    b.client.call(1, "ListDevices", &devices(), true).await;
    b.socket.readable().await.unwrap();
    let (served, mut client, _phase, _) = b.serve();
    assert!(tokio::time::timeout(5 * PATIENCE, served).await.is_err());
    assert_eq!(client.next(&[frame::HEADERS]).await.unwrap().stream, 1);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_leaves_its_answer_unread_is_let_go_when_patience_ends() {
    let mut b = Bench::new(&[(frame::SET_INITIAL_WINDOW, 0)]).await;
    b.client.call(1, "ListDevices", &devices(), true).await;
    b.socket.readable().await.unwrap();
    let (served, mut client, _phase, _) = b.serve();
    let took = timed(served).await;
    assert!((PATIENCE..PATIENCE + LATE).contains(&took), "{took:?}");
    assert!(client.next(&[frame::DATA]).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_go_on_is_answered_and_its_connection_stays() {
    let mut b = Bench::new(&[]).await;
    b.client.call(1, "ListDevices", &[0, 0, 0], false).await;
    b.socket.readable().await.unwrap();
    let (served, mut client, _phase, _) = b.serve();
    assert!(tokio::time::timeout(3 * PATIENCE, served).await.is_err());
    let head: Head = crate::net::http2::hpack::Decoder::default()
        .decode(&client.next(&[frame::HEADERS]).await.unwrap().payload)
        .unwrap();
    assert_eq!(head.grpc_status.as_deref(), Some(&b"4"[..]));
    assert!(client.next(&[frame::RST_STREAM]).await.unwrap().is_reset(1, frame::NO_ERROR));
}

/// Runs the client and the connection until both end.
async fn both(served: impl Future<Output = ()>, client: impl Future<Output = ()>) {
    tokio::join!(served, client);
}

#[tokio::test]
async fn a_server_that_drains_says_so_ends_what_runs_and_takes_nothing_new() {
    let (served, mut client, phase, _) = Bench::new(&[]).await.serve();
    both(served, async {
        client.wait_for_nothing(1).await;
        // Answered after the step began: both were accepted.
        client.call(5, "ListDevices", &devices(), true).await;
        client.message().await;
        phase.send(Phase::Draining).unwrap();
        let bye = client.next(&[frame::GOAWAY]).await.unwrap();
        assert_eq!((bye.number(), &bye.payload[4..]), (5, &[0; 4][..]));
        client.call(7, "ListDevices", &devices(), true).await;
        assert!(
            client.next(&[frame::RST_STREAM, frame::DATA]).await.unwrap().is_reset(7, frame::REFUSED_STREAM)
        );
        // The step runs until its client cancels it.
        client.writer.reset(3, frame::CANCEL);
        let cancel = client.writer.out.drained();
        client.socket.write_all(&cancel).await.unwrap();
        assert!(client.next(&[frame::GOAWAY, frame::HEADERS]).await.is_none());
    })
    .await;
}

#[tokio::test]
async fn a_connection_without_calls_ends_at_once_when_its_server_drains() {
    let (served, mut client, phase, _) = Bench::new(&[]).await.serve();
    both(served, async {
        client.call(1, "ListDevices", &devices(), true).await;
        client.message().await;
        phase.send(Phase::Draining).unwrap();
        assert_eq!(client.next(&[frame::GOAWAY]).await.unwrap().number(), 1);
        assert!(client.next(&[frame::GOAWAY]).await.is_none());
    })
    .await;
}

#[tokio::test]
async fn a_server_that_closes_waits_for_no_call() {
    let (served, mut client, phase, _) = Bench::new(&[]).await.serve();
    both(served, async {
        client.wait_for_nothing(1).await;
        client.call(5, "ListDevices", &devices(), true).await;
        client.message().await;
        phase.send(Phase::Closing).unwrap();
        while client.next(&[frame::GOAWAY]).await.is_some() {}
    })
    .await;
}

#[tokio::test]
async fn a_connection_whose_place_is_wanted_by_another_ends() {
    let b = Bench::new(&[]).await;
    let slot = ConnectionSlots::new(4).take(IpAddr::from([127, 0, 0, 1])).unwrap();
    slot.dismiss();
    let (mut client, stopped) = (b.client, b.phase.subscribe());
    both(serve(b.socket.into(), b.peer, slot, places(), stopped), async {
        assert_eq!(client.next(&[frame::GOAWAY]).await.unwrap().number(), 0);
        assert!(client.next(&[frame::GOAWAY]).await.is_none());
    })
    .await;
}

/// Closing a socket with unread bytes resets it, and GOAWAY may be lost.
#[tokio::test]
async fn a_peer_that_breaks_the_rules_hears_which() {
    let mut b = Bench::new(&[]).await;
    let rubbish = [&[0, 0, 8, frame::PING, 0, 0, 0, 0, 7][..], &[0; 100_000]].concat();
    b.client.socket.write_all(&rubbish).await.unwrap();
    let (served, mut client, _phase, _) = b.serve();
    both(served, async {
        let bye = client.next(&[frame::GOAWAY]).await.unwrap();
        assert_eq!(bye.payload[4..], frame::PROTOCOL_ERROR.to_be_bytes());
        drop(client);
    })
    .await;
}
