//! Calls by their frames, without a socket.

use super::*;
use crate::net::PeerLimits;
use crate::net::http2::hpack::Decoder;
use crate::service::methods::Services;
use crate::testing::{Frame, call_head, framed, frames, head, peer, services};
use std::sync::Arc;
use std::time::Duration;
use thalweg_core::budget::{Account, Pool};
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_graph::convert::tensor_to_proto;
use thalweg_proto::{
    CreateSessionRequest, CreateSessionResponse, ListDevicesRequest, Message, NamedTensorProto,
    RunStepRequest, RunStepResponse, decode, text,
};
use tokio::sync::mpsc::UnboundedReceiver;

/// A queue that stays empty, and a sum of the feed.
const GRAPH: &str = "
    node { name: 'q' op: 'FIFOQueueV2' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }
    node { name: 'get' op: 'QueueDequeueV2' input: 'q' attr { key: 'component_types' value { list { type: DT_FLOAT } } } }
    node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'y' op: 'AddV2' input: 'x' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }";

struct Bench {
    services: Arc<Services>,
    calls: Calls,
    writer: FrameWriter,
    answered: UnboundedReceiver<(u32, Answer)>,
    decoder: Decoder,
    incoming: Arc<Account>,
}

impl Bench {
    fn new(limits: PeerLimits) -> Bench {
        let services = services();
        let peer = peer(&services, limits);
        let incoming = peer.incoming.clone();
        let (finished, answered) = mpsc::unbounded_channel();
        let calls = Calls::new(peer, finished);
        Bench {
            services,
            calls,
            writer: FrameWriter::default(),
            answered,
            decoder: Decoder::default(),
            incoming,
        }
    }

    /// HEADERS of a call.
    fn begin(&mut self, stream: u32, method: &str) {
        let head = call_head(&format!("/tensorflow.MasterService/{method}"));
        self.calls.head(&mut self.writer, stream, head, false).unwrap();
    }

    fn data(&mut self, stream: u32, bytes: &[u8]) {
        assert!(self.calls.begin_data(&mut self.writer, stream, bytes.len()));
        self.calls.data(&mut self.writer, stream, bytes);
    }

    fn end(&mut self, stream: u32) {
        self.calls.end(&mut self.writer, stream);
    }

    /// A whole call.
    fn call(&mut self, stream: u32, method: &str, message: &impl Message) {
        self.begin(stream, method);
        self.data(stream, &framed(&message.encode_to_vec()));
        self.end(stream);
    }

    fn frames(&mut self) -> Vec<Frame> {
        frames(&mut self.writer)
    }

    /// Waits for a call that runs as an async task.
    async fn respond(&mut self) {
        let (stream, answer) = self.answered.recv().await.unwrap();
        self.calls.respond(&mut self.writer, stream, answer);
    }

    /// The response message of a successful call.
    fn message<M: Message + Default>(&mut self, stream: u32) -> M {
        let frames = self.frames();
        let data = frames.iter().filter(|f| f.kind == frame::DATA && f.stream == stream);
        let bytes: Vec<u8> = data.flat_map(|f| f.payload.clone()).collect();
        assert_eq!(self.status(&frames, stream), Some(0), "{frames:?}");
        decode(bytes[5..].to_vec()).unwrap()
    }

    /// The `grpc-status` of a stream's trailers.
    fn status(&mut self, frames: &[Frame], stream: u32) -> Option<i32> {
        let mut said = None;
        for f in frames.iter().filter(|f| f.kind == frame::HEADERS) {
            let head = self.decoder.decode(&f.payload).unwrap();
            if f.stream == stream && f.flags & frame::END_STREAM != 0 {
                said = head.grpc_status.and_then(|s| std::str::from_utf8(&s).unwrap().parse().ok());
            }
        }
        said
    }

    async fn session(&mut self, stream: u32) -> String {
        let graph_def = Some(text::parse_graph_def(GRAPH).unwrap());
        self.call(stream, "CreateSession", &CreateSessionRequest { graph_def, ..Default::default() });
        // It may have been immediate.
        if !Calls::is_idle(&self.calls) {
            self.respond().await;
        }
        self.message::<CreateSessionResponse>(stream).session_handle
    }

    fn active(&self) -> usize {
        self.services.master.sessions.active()
    }

    async fn until_active(&self, calls: usize) {
        while self.active() != calls {
            tokio::task::yield_now().await;
        }
    }
}

fn fetch(session: &str, tensor: &str) -> RunStepRequest {
    RunStepRequest { session_handle: session.into(), fetch: vec![tensor.into()], ..Default::default() }
}

const DEVICES: ListDevicesRequest = ListDevicesRequest { session_handle: String::new() };

#[tokio::test]
async fn streams_are_the_clients_begin_in_order_and_are_idle_before() {
    let mut b = Bench::new(PeerLimits::default());
    let say = |b: &mut Bench, stream, head| b.calls.head(&mut b.writer, stream, head, true).err();
    let good = || call_head("/tensorflow.MasterService/ListDevices");
    assert_eq!(b.calls.last_stream(), 0);
    b.call(5, "ListDevices", &DEVICES);
    let idle: Vec<u32> = (1..=8).filter(|stream| Handler::is_idle(&b.calls, *stream)).collect();
    assert_eq!((idle, b.calls.last_stream()), (vec![2, 4, 6, 7, 8], 5));
    // Even ids are the server's; a skipped id is closed; a closed stream stays closed.
    assert_eq!(say(&mut b, 8, good()).unwrap().code, frame::PROTOCOL_ERROR);
    assert_eq!(say(&mut b, 3, good()).unwrap().code, frame::PROTOCOL_ERROR);
    assert_eq!(say(&mut b, 5, good()).unwrap().code, frame::STREAM_CLOSED);
    assert_eq!(b.calls.last_stream(), 5);
    // A stream that we reset early: the client's trailers may have been in flight.
    let html = head(&[(":method", "GET"), (":scheme", "http"), (":path", "/")]);
    assert!(b.calls.head(&mut b.writer, 7, html, false).is_ok());
    assert!(say(&mut b, 7, head(&[("x", "y")])).is_none());
    assert!(Calls::is_idle(&b.calls));
}

#[tokio::test]
async fn a_second_head_ends_the_request_or_is_a_fault_of_its_stream() {
    let mut b = Bench::new(PeerLimits::default());
    let session = b.session(1).await;
    let message = framed(&DEVICES.encode_to_vec());
    for (stream, head, end, fault) in [
        (3, head(&[("x-more", "1")]), true, None),
        (5, head(&[("x-more", "1")]), false, Some(frame::PROTOCOL_ERROR)),
        (7, call_head("/again"), true, Some(frame::PROTOCOL_ERROR)),
        (9, call_head("/again"), false, Some(frame::PROTOCOL_ERROR)),
    ] {
        b.begin(stream, "ListDevices");
        b.data(stream, &message);
        b.calls.head(&mut b.writer, stream, head, end).unwrap();
        let said = b.frames();
        let status = b.status(&said, stream);
        match fault {
            None => assert_eq!(status, Some(0)),
            Some(code) => assert!(said.len() == 1 && said[0].is_reset(stream, code), "{said:?}"),
        }
    }
    // HEADERS on a running call is a stream error.
    b.call(11, "RunStep", &fetch(&session, "get:0"));
    b.until_active(1).await;
    b.calls.head(&mut b.writer, 11, head(&[("x", "y")]), true).unwrap();
    assert!(b.frames()[0].is_reset(11, frame::STREAM_CLOSED));
    b.until_active(0).await;
}

#[tokio::test]
async fn half_a_window_taken_is_given_back() {
    let mut b = Bench::new(PeerLimits::default());
    b.begin(1, "RunStep");
    let half = STREAM_WINDOW as usize / 2;
    for _ in 0..2 {
        assert!(b.calls.begin_data(&mut b.writer, 1, half - 1));
        assert_eq!(b.frames(), []);
        assert!(b.calls.begin_data(&mut b.writer, 1, 1));
        let [credit] = &b.frames()[..] else { panic!("one frame") };
        assert_eq!((credit.kind, credit.stream, credit.number()), (frame::WINDOW_UPDATE, 1, half as u32));
    }
}

#[tokio::test]
async fn data_of_a_stream_that_takes_none_is_passed_over_or_refused() {
    let mut b = Bench::new(PeerLimits::default());
    b.call(1, "ListDevices", &DEVICES);
    b.frames();
    // Ended; one RST_STREAM is sent.
    assert!(!b.calls.begin_data(&mut b.writer, 1, 10));
    assert!(b.frames()[0].is_reset(1, frame::STREAM_CLOSED));
    assert!(!b.calls.begin_data(&mut b.writer, 1, 10));
    assert_eq!(b.frames(), []);
    let html = head(&[(":method", "GET"), (":scheme", "http"), (":path", "/")]);
    b.calls.head(&mut b.writer, 3, html, false).unwrap();
    let said = b.frames();
    assert!(said.len() == 2 && said[1].is_reset(3, frame::NO_ERROR), "{said:?}");
    assert!(!b.calls.begin_data(&mut b.writer, 3, 10));
    assert_eq!(b.frames(), []);
}

#[tokio::test]
async fn a_call_that_is_turned_away_is_reset_only_if_it_has_not_ended() {
    let mut b = Bench::new(PeerLimits::default());
    let html = || head(&[(":method", "GET"), (":scheme", "http"), (":path", "/")]);
    b.calls.head(&mut b.writer, 1, html(), true).unwrap();
    let said = b.frames();
    assert_eq!(said.iter().map(|f| (f.kind, f.flags)).collect::<Vec<_>>(), [(frame::HEADERS, 5)]);
    assert!(!b.calls.refused.has(1));
    let malformed = head(&[(":method", "POST")]);
    b.calls.head(&mut b.writer, 3, malformed, true).unwrap();
    assert!(b.frames()[0].is_reset(3, frame::PROTOCOL_ERROR));
}

#[tokio::test]
async fn a_connection_has_so_many_calls_and_takes_none_while_it_drains() {
    let mut b = Bench::new(PeerLimits { calls: 2, ..Default::default() });
    b.begin(1, "RunStep");
    b.begin(3, "RunStep");
    assert_eq!(b.frames(), []);
    b.begin(5, "RunStep");
    assert!(b.frames()[0].is_reset(5, frame::REFUSED_STREAM));
    Handler::reset(&mut b.calls, 1, frame::CANCEL);
    b.begin(7, "RunStep");
    assert_eq!(b.frames(), []);
    Handler::reset(&mut b.calls, 7, frame::CANCEL);
    b.calls.draining = true;
    b.begin(9, "RunStep");
    assert!(b.frames()[0].is_reset(9, frame::REFUSED_STREAM));
    assert!(!Calls::is_idle(&b.calls));
    Handler::reset(&mut b.calls, 3, frame::CANCEL);
    assert!(Calls::is_idle(&b.calls));
}

#[tokio::test]
async fn calls_and_what_has_come_of_their_messages_are_on_the_peers_account() {
    // One account's limit: 8/9 of the pool.
    let mut b = Bench::new(PeerLimits { unfinished: 9 * (4 << 10), ..Default::default() });
    for i in 0..8 {
        b.begin(2 * i + 1, "RunStep");
        assert_eq!(b.incoming.held(), (i as usize + 1) << 12);
    }
    assert_eq!(b.frames(), []);
    b.begin(17, "RunStep");
    let said = b.frames();
    assert_eq!(b.status(&said, 17), Some(8));
    (0..8).for_each(|i| Handler::reset(&mut b.calls, 2 * i + 1, frame::CANCEL));
    assert_eq!(b.incoming.held(), 0);
    // Received bytes are charged, in a buffer that grows.
    b.begin(19, "RunStep");
    b.data(19, &[&[0, 0, 1, 0, 0][..], &[0; 1000]].concat());
    let held = b.incoming.held();
    assert!((CALL + 1000..CALL + 4096).contains(&held), "{held}");
    // Over the limit: the call is rejected, and its charge released.
    let mut said = Vec::new();
    while said.is_empty() {
        b.data(19, &[0; 1000]);
        said = b.frames();
    }
    assert!(said.last().unwrap().is_reset(19, frame::NO_ERROR), "{said:?}");
    assert_eq!((b.status(&said, 19), b.incoming.held()), (Some(8), 0));
}

#[tokio::test]
async fn a_call_that_goes_on_holds_its_message_until_it_is_answered() {
    let mut b = Bench::new(PeerLimits::default());
    let session = b.session(1).await;
    assert_eq!(b.incoming.held(), 0);
    let request = fetch(&session, "get:0");
    b.call(3, "RunStep", &request);
    assert_eq!(b.incoming.held(), CALL + request.encoded_len());
    Handler::reset(&mut b.calls, 3, frame::CANCEL);
    assert_eq!(b.incoming.held(), 0);
    b.until_active(0).await;
    // The response of a cancelled call is dropped.
    b.answered.try_recv().ok();
    b.calls.respond(&mut b.writer, 3, Err(Status::new(Code::Internal, "late")));
    assert_eq!(b.frames(), []);
}

/// A message in one piece is charged only when complete, and may exceed the limit.
#[tokio::test]
async fn a_message_in_one_piece_is_charged_when_it_is_whole() {
    let mut b = Bench::new(PeerLimits { unfinished: 9000, ..Default::default() });
    b.begin(1, "RunStep");
    b.data(1, &framed(&[0; 4000]));
    b.end(1);
    let said = b.frames();
    assert_eq!(b.status(&said, 1), Some(8));
    assert_eq!(b.incoming.held(), 0);
}

#[tokio::test]
async fn a_request_has_the_length_that_it_says() {
    let mut b = Bench::new(PeerLimits::default());
    let message = framed(&DEVICES.encode_to_vec());
    for (stream, said, taken) in [(1, 5, true), (3, 4, false), (5, 6, false)] {
        let length = said.to_string();
        let head = head(&[
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/tensorflow.MasterService/ListDevices"),
            ("content-type", "application/grpc"),
            ("content-length", &length),
        ]);
        b.calls.head(&mut b.writer, stream, head, false).unwrap();
        b.data(stream, &message[..2]);
        b.data(stream, &message[2..]);
        b.end(stream);
        let frames = b.frames();
        let status = b.status(&frames, stream);
        assert_eq!(status, taken.then_some(0), "{said}");
        assert_eq!(frames[0].is_reset(stream, frame::PROTOCOL_ERROR), !taken);
    }
}

#[tokio::test]
async fn what_is_no_message_is_told_so() {
    let mut b = Bench::new(PeerLimits { message: 100, ..Default::default() });
    for (stream, bytes, code) in [
        (1, framed(&[0; 101]), Code::ResourceExhausted),
        (3, vec![1, 0, 0, 0, 0], Code::Unimplemented),
        (5, [framed(b""), vec![7]].concat(), Code::InvalidArgument),
    ] {
        b.begin(stream, "ListDevices");
        b.data(stream, &bytes);
        let said = b.frames();
        assert_eq!(b.status(&said, stream), Some(code as i32), "{stream}");
        assert!(said.last().unwrap().is_reset(stream, frame::NO_ERROR));
    }
    b.begin(7, "ListDevices");
    b.data(7, &[0, 0, 0]);
    b.end(7);
    let said = b.frames();
    assert_eq!((b.status(&said, 7), said.len()), (Some(Code::InvalidArgument as i32), 1));
    assert!(Calls::is_idle(&b.calls));
}

/// Tensors are read into their own buffers: found by the path in the message alone.
#[tokio::test]
async fn a_large_tensor_is_read_to_where_it_stays() {
    let mut b = Bench::new(PeerLimits::default());
    let session = b.session(1).await;
    let values: Vec<f32> = (0..100_000).map(|i| i as f32).collect();
    let tensor = Tensor::from_slice(Shape::new(&[values.len()]).unwrap(), &values).unwrap();
    let fed = NamedTensorProto { name: "x:0".into(), tensor: Some(tensor_to_proto(&tensor).unwrap()) };
    let message = framed(&RunStepRequest { feed: vec![fed], ..fetch(&session, "y:0") }.encode_to_vec());
    b.begin(3, "RunStep");
    assert!(b.calls.room(3).is_none());
    let mut at = 0;
    while b.calls.room(3).is_none() {
        b.data(3, &message[at..=at]);
        at += 1;
    }
    for n in [300_000, 100_000] {
        assert!(b.calls.begin_data(&mut b.writer, 3, n));
        b.calls.room(3).unwrap()[..n].copy_from_slice(&message[at..at + n]);
        b.calls.filled(&mut b.writer, 3, n);
        at += n;
    }
    assert!(b.calls.room(3).is_none());
    let held = b.incoming.held();
    assert!(held >= CALL + 400_000, "{held}");
    b.data(3, &message[at..]);
    b.end(3);
    b.writer.on_window_update(0, 1 << 30).unwrap();
    b.writer.on_window_update(3, 1 << 20).ok();
    if !Calls::is_idle(&b.calls) {
        b.respond().await;
        b.writer.on_window_update(3, 1 << 20).unwrap();
    }
    let answer: RunStepResponse = b.message(3);
    let content = &answer.tensor[0].tensor.as_ref().unwrap().tensor_content;
    assert_eq!(content[400_000 - 4..], (2.0 * 99_999f32).to_le_bytes());
}

/// On tokio's paused clock.
#[tokio::test(start_paused = true)]
async fn requests_of_which_nothing_more_comes_are_given_up() {
    let mut b = Bench::new(PeerLimits { stall_timeout: Duration::from_secs(60), ..Default::default() });
    let session = b.session(1).await;
    b.call(3, "RunStep", &fetch(&session, "get:0"));
    b.begin(5, "RunStep");
    b.data(5, &[0, 0, 0, 1, 0, 1]);
    tokio::time::advance(Duration::from_secs(40)).await;
    // New bytes restart the timeout of their request only.
    b.begin(7, "RunStep");
    b.data(7, &[0, 0, 0, 1, 0, 1]);
    tokio::time::advance(Duration::from_secs(20)).await;
    b.calls.give_up_unfinished(&mut b.writer);
    assert_eq!(b.frames(), []);
    tokio::time::advance(Duration::from_millis(1)).await;
    b.calls.give_up_unfinished(&mut b.writer);
    let said = b.frames();
    assert_eq!((b.status(&said, 5), b.status(&said[..0], 7)), (Some(4), None));
    assert!(said.len() == 2 && said[1].is_reset(5, frame::NO_ERROR), "{said:?}");
    // Later DATA of it is skipped. A running call never times out here.
    assert!(!b.calls.begin_data(&mut b.writer, 5, 10));
    assert_eq!(b.frames(), []);
    tokio::time::advance(Duration::from_secs(39)).await;
    b.data(7, &[1]);
    tokio::time::advance(Duration::from_secs(60)).await;
    b.calls.give_up_unfinished(&mut b.writer);
    assert_eq!((b.frames(), b.active()), (vec![], 1));
}

/// A few bytes now and then suffice while memory is free.
#[tokio::test(start_paused = true)]
async fn slow_requests_are_given_up_where_memory_is_tight() {
    let mut b = Bench::new(PeerLimits { stall_timeout: Duration::from_secs(60), ..Default::default() });
    let pool = Pool::new(1_000_000);
    b.calls.peer.incoming = pool.account();
    b.begin(1, "RunStep");
    b.data(1, &[0, 0, 0, 0x40, 0]);
    for _ in 0..20 {
        tokio::time::advance(Duration::from_secs(5)).await;
        b.data(1, &[0]);
        b.calls.give_up_unfinished(&mut b.writer);
    }
    assert_eq!(b.frames(), []);
    let _held = pool.account().charge(600_000).unwrap();
    b.calls.give_up_unfinished(&mut b.writer);
    let said = b.frames();
    assert_eq!(b.status(&said, 1), Some(4));
}

#[tokio::test]
async fn calls_end_with_their_stream_and_with_their_connection() {
    let mut b = Bench::new(PeerLimits::default());
    let session = b.session(1).await;
    for stream in [3, 5] {
        b.call(stream, "RunStep", &fetch(&session, "get:0"));
    }
    let services = b.services.clone();
    b.until_active(2).await;
    // END_STREAM again changes nothing.
    b.end(3);
    Handler::reset(&mut b.calls, 3, frame::CANCEL);
    b.until_active(1).await;
    assert!(!Calls::is_idle(&b.calls));
    drop(b);
    while services.master.sessions.active() != 0 {
        tokio::task::yield_now().await;
    }
}

/// Else it would stay pending.
#[test]
fn a_call_that_ends_in_a_panic_is_answered_with_it() {
    let (to, mut told) = mpsc::unbounded_channel();
    drop(CompletionGuard { stream: 7, to: Some(to.clone()) });
    let (stream, answer) = told.try_recv().unwrap();
    assert_eq!((stream, answer.err().unwrap().code()), (7, Code::Internal));
    let mut well = CompletionGuard { stream: 9, to: Some(to) };
    well.tell(Err(Status::new(Code::Aborted, "x")));
    drop(well);
    assert_eq!(told.try_recv().unwrap().1.err().unwrap().code(), Code::Aborted);
    assert!(told.try_recv().is_err());
}
