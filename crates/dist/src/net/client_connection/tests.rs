//! The client's end: first its calls alone, then with a socket and a fake server.

use super::*;
use crate::net::grpc::content_scanner::{NO_CONTENT, RECV_TENSOR};
use crate::net::http2::hpack::Decoder;
use crate::testing::{Frame, framed, frames, head};
use std::sync::Mutex;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_graph::convert::tensor_to_proto;
use thalweg_proto::{GetStatusRequest, ListDevicesRequest, RecvTensorResponse};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

struct Bench {
    calls: Calls,
    writer: FrameWriter,
    /// Responses by call, in order of arrival.
    answers: Arc<Mutex<Vec<(u32, Result<ReceivedMessage>)>>>,
}

impl Bench {
    fn new() -> Bench {
        let calls = Calls {
            address: "host:1".into(),
            under_way: HashMap::new(),
            waiting: VecDeque::new(),
            next: 1,
            scheme: b"http",
            authorization: Some("Bearer me".into()),
            retired: Arc::default(),
        };
        Bench { calls, writer: FrameWriter::default(), answers: Arc::default() }
    }

    /// Starts a call with this test number.
    fn ask(&mut self, number: u32, path: ContentPath) -> Arc<CallState> {
        let request = Request::new("/a.B/C".into(), &ListDevicesRequest { session_handle: "s".into() });
        let (answers, ticket) = (self.answers.clone(), Arc::<CallState>::default());
        let done: OnResponse = Box::new(move |answer| answers.lock().unwrap().push((number, answer)));
        let ask = NewCall { request: request.unwrap(), path, done, ticket: ticket.clone() };
        self.calls.begin(&mut self.writer, ask);
        ticket
    }

    fn frames(&mut self) -> Vec<Frame> {
        frames(&mut self.writer)
    }

    /// Streams of the HEADERS sent.
    fn begun(&mut self) -> Vec<u32> {
        self.frames().iter().filter(|f| f.kind == frame::HEADERS).map(|f| f.stream).collect()
    }

    /// Ends a call with these trailers.
    fn status(&mut self, stream: u32, fields: &[(&'static str, &str)]) {
        self.calls.head(&mut self.writer, stream, head(fields), true).unwrap();
    }

    /// Numbers and status codes of new responses.
    fn answered(&self) -> Vec<(u32, Option<Code>)> {
        let all = std::mem::take(&mut *self.answers.lock().unwrap());
        all.into_iter().map(|(number, answer)| (number, answer.err().map(|e| e.code()))).collect()
    }
}

#[test]
fn a_call_goes_out_with_its_head_and_its_message() {
    let mut b = Bench::new();
    b.ask(1, NO_CONTENT);
    b.ask(2, NO_CONTENT);
    let out = b.frames();
    let shape: Vec<_> = out.iter().map(|f| (f.kind, f.flags, f.stream)).collect();
    let (headers, data, end) = (frame::HEADERS, frame::DATA, frame::END_STREAM);
    assert_eq!(
        shape,
        [(headers, frame::END_HEADERS, 1), (headers, frame::END_HEADERS, 3), (data, end, 1), (data, end, 3)]
    );
    let mut decoder = Decoder::default();
    for f in &out[..2] {
        let head = decoder.decode(&f.payload).unwrap();
        assert!(head.request_fault().is_none());
        let text = |value: Option<Bytes>| String::from_utf8(value.unwrap().to_vec()).unwrap();
        assert_eq!(text(head.path), "/a.B/C");
        assert_eq!(text(head.content_type), "application/grpc");
        assert_eq!(text(head.authorization), "Bearer me");
    }
    let request = ListDevicesRequest { session_handle: "s".into() };
    assert_eq!(out[2].payload, framed(&request.encode_to_vec()));
    let request = Request::new("/a.B/C".into(), &request).unwrap();
    assert_eq!(request.len(), out[2].payload.len());
}

#[test]
fn streams_are_ours_and_none_is_the_servers() {
    let mut b = Bench::new();
    b.ask(1, NO_CONTENT);
    b.ask(2, NO_CONTENT);
    let idle: Vec<u32> = (1..=7).filter(|stream| Handler::is_idle(&b.calls, *stream)).collect();
    assert_eq!((idle, b.calls.last_stream()), (vec![2, 4, 5, 6, 7], 0));
}

#[test]
fn calls_wait_for_the_streams_that_the_peer_takes() {
    let mut b = Bench::new();
    b.writer.apply_setting(frame::SET_MAX_STREAMS, 2).unwrap();
    assert!(Calls::is_idle(&b.calls));
    let tickets: Vec<_> = (1..=5).map(|n| b.ask(n, NO_CONTENT)).collect();
    assert_eq!(b.begun(), [1, 3]);
    b.calls.start_waiting(&mut b.writer);
    assert!(b.begun().is_empty());
    // A cancelled call in the queue is never sent.
    tickets[2].cancelled.store(true, Ordering::Relaxed);
    b.status(1, &[(":status", "200"), ("grpc-status", "5")]);
    b.calls.start_waiting(&mut b.writer);
    assert_eq!(b.begun(), [5]);
    assert_eq!(tickets.iter().map(|t| t.stream.load(Ordering::Relaxed)).collect::<Vec<_>>(), [1, 3, 0, 5, 0]);
    // Queued calls without any in flight.
    b.writer.apply_setting(frame::SET_MAX_STREAMS, 0).unwrap();
    b.status(3, &[("grpc-status", "5")]);
    b.status(5, &[("grpc-status", "5")]);
    assert!(!Calls::is_idle(&b.calls) && b.calls.under_way.is_empty());
    b.writer.apply_setting(frame::SET_MAX_STREAMS, 100).unwrap();
    b.calls.start_waiting(&mut b.writer);
    assert_eq!(b.begun(), [7]);
    assert!(!Calls::is_idle(&b.calls) && b.calls.waiting.is_empty());
    assert_eq!(
        b.answered(),
        [(1, Some(Code::NotFound)), (2, Some(Code::NotFound)), (4, Some(Code::NotFound))]
    );
}

#[test]
fn a_connection_is_given_up_before_its_numbers_end() {
    assert_eq!((LAST_STREAM, RETIRE), (0x7fff_ffff, 0x7fef_ffff));
    let mut b = Bench::new();
    let retired = |b: &Bench| b.calls.retired.load(Ordering::Relaxed);
    b.calls.next = RETIRE;
    b.ask(1, NO_CONTENT);
    assert!(!retired(&b));
    b.ask(2, NO_CONTENT);
    assert!(retired(&b));
    b.calls.next = LAST_STREAM - 2;
    b.ask(3, NO_CONTENT);
    assert_eq!((b.begun(), b.answered()), (vec![RETIRE, RETIRE + 2, LAST_STREAM - 2], vec![]));
    b.ask(4, NO_CONTENT);
    assert_eq!((b.begun(), b.answered()), (vec![], vec![(4, Some(Code::Unavailable))]));
}

#[test]
fn half_a_window_taken_is_given_back() {
    let mut b = Bench::new();
    b.ask(1, NO_CONTENT);
    b.frames();
    let half = STREAM_WINDOW as usize / 2;
    for _ in 0..2 {
        assert!(b.calls.begin_data(&mut b.writer, 1, half - 1));
        assert_eq!(b.frames(), []);
        assert!(b.calls.begin_data(&mut b.writer, 1, 1));
        let [credit] = &b.frames()[..] else { panic!("one frame") };
        assert_eq!((credit.kind, credit.stream, credit.number()), (frame::WINDOW_UPDATE, 1, half as u32));
    }
    // The response to a cancelled call is skipped.
    assert!(!b.calls.begin_data(&mut b.writer, 3, half));
    assert_eq!(b.frames(), []);
}

#[test]
fn an_answer_is_its_message_or_why_there_is_none() {
    let mut b = Bench::new();
    let ok = [("grpc-status", "0")];
    for n in 1..=6 {
        b.ask(n, NO_CONTENT);
    }
    b.frames();
    b.calls.head(&mut b.writer, 1, head(&[(":status", "200")]), false).unwrap();
    assert!(b.answered().is_empty());
    b.calls.data(&mut b.writer, 1, &framed(b"")[..3]);
    b.calls.data(&mut b.writer, 1, &framed(b"")[3..]);
    b.status(1, &ok);
    // No message, no status, another status, bytes after the message, unknown stream.
    b.status(3, &ok);
    b.status(5, &[(":status", "502")]);
    b.status(7, &[(":status", "200"), ("grpc-status", "9"), ("grpc-message", "not%20yet")]);
    b.calls.data(&mut b.writer, 9, &[framed(b""), vec![1]].concat());
    b.calls.data(&mut b.writer, 99, &framed(b""));
    b.status(99, &ok);
    Handler::reset(&mut b.calls, 11, frame::REFUSED_STREAM);
    {
        let answers = b.answers.lock().unwrap();
        let message = |i: usize| answers[i].1.as_ref().err().unwrap().message().to_string();
        assert_eq!(message(1), "host:1 answered with something that is not a gRPC message");
        assert_eq!(message(2), "not a gRPC server: HTTP status 502");
        assert_eq!(message(3), "not yet");
        assert_eq!(message(5), "host:1: the call was reset (HTTP/2 error 7)");
    }
    let codes = [None, Some(Code::Internal), Some(Code::Unavailable), Some(Code::FailedPrecondition)];
    let more = [Some(Code::Internal), Some(Code::Unavailable)];
    let want: Vec<_> = (1..).zip(codes.into_iter().chain(more)).collect();
    assert_eq!(b.answered(), want);
    let said = b.frames();
    assert!(said.len() == 1 && said[0].is_reset(9, frame::CANCEL), "{said:?}");
    assert!(Calls::is_idle(&b.calls));
}

#[test]
fn a_large_tensor_is_read_to_where_it_stays() {
    let mut b = Bench::new();
    b.ask(1, RECV_TENSOR);
    let values: Vec<f32> = (0..100_000).map(|i| i as f32).collect();
    let tensor = Tensor::from_slice(Shape::new(&[values.len()]).unwrap(), &values).unwrap();
    let answer = RecvTensorResponse { tensor: Some(tensor_to_proto(&tensor).unwrap()), ..Default::default() };
    let message = framed(&answer.encode_to_vec());
    assert!(b.calls.room(1).is_none() && b.calls.room(3).is_none());
    let mut at = 0;
    while b.calls.room(1).is_none() {
        b.calls.data(&mut b.writer, 1, &message[at..=at]);
        at += 1;
    }
    for n in [300_000, 100_000] {
        b.calls.room(1).unwrap()[..n].copy_from_slice(&message[at..at + n]);
        b.calls.filled(&mut b.writer, 1, n);
        at += n;
    }
    assert!(b.calls.room(1).is_none());
    b.calls.data(&mut b.writer, 1, &message[at..]);
    b.status(1, &[("grpc-status", "0")]);
    let arrived = b.answers.lock().unwrap().pop().unwrap().1.unwrap();
    let (answer, contents) = arrived.decode::<RecvTensorResponse>().unwrap();
    let tensor = contents.tensor(&answer.tensor.unwrap()).unwrap();
    assert_eq!(tensor.as_slice::<f32>().unwrap(), &values[..]);
}

/// A response may come before all of the request was sent.
#[test]
fn a_request_that_is_answered_early_is_not_sent_to_its_end() {
    let mut b = Bench::new();
    b.writer.apply_setting(frame::SET_INITIAL_WINDOW, 0).unwrap();
    b.ask(1, NO_CONTENT);
    assert_eq!(b.begun(), [1]);
    b.status(1, &[("grpc-status", "8")]);
    let said = b.frames();
    assert!(said.len() == 1 && said[0].is_reset(1, frame::NO_ERROR), "{said:?}");
}

#[test]
fn what_a_server_that_goes_has_not_taken_is_refused() {
    let mut b = Bench::new();
    for n in 1..=4 {
        b.ask(n, NO_CONTENT);
    }
    b.calls.goaway(5);
    assert_eq!(b.answered(), [(4, Some(Code::Unavailable))]);
    assert!(b.calls.retired.load(Ordering::Relaxed));
    b.writer.apply_setting(frame::SET_MAX_STREAMS, 0).unwrap();
    b.ask(5, NO_CONTENT);
    b.calls.fail_all("gone");
    let mut rest = b.answered();
    rest.sort_by_key(|answer| answer.0);
    assert_eq!(rest, [1, 2, 3, 5].map(|n| (n, Some(Code::Unavailable))));
    assert!(Calls::is_idle(&b.calls));
}

/// A fake server.
struct Server(TcpStream);

async fn connected(keep_alive: Option<KeepAliveOptions>) -> (ClientConnection, Server) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let outgoing = Outgoing::default();
    let (sender, accepted) = tokio::join!(open(&address, keep_alive, &outgoing), listener.accept());
    let mut server = Server(accepted.unwrap().0);
    let mut preface = [0; frame::PREFACE.len()];
    server.0.read_exact(&mut preface).await.unwrap();
    assert_eq!(preface, frame::PREFACE);
    let mut hello = BytesMut::new();
    frame::put_settings(&mut hello, &[]);
    server.0.write_all(&hello).await.unwrap();
    (sender.unwrap(), server)
}

impl Server {
    /// The next frame of these kinds.
    async fn next(&mut self, kinds: &[u8]) -> Frame {
        loop {
            let mut head = [0; frame::HEAD];
            self.0.read_exact(&mut head).await.unwrap();
            let head = frame::FrameHeader::parse(&head);
            let mut payload = vec![0; head.length];
            self.0.read_exact(&mut payload).await.unwrap();
            if kinds.contains(&head.kind) {
                return Frame { kind: head.kind, flags: head.flags, stream: head.stream, payload };
            }
        }
    }

    /// Ends a call with this status.
    async fn answer(&mut self, stream: u32, status: &str) {
        let mut out = FrameWriter::default();
        out.headers(stream, true, |encoder, out| {
            encoder.field(out, ":status", b"200");
            encoder.field(out, "grpc-status", status.as_bytes());
        });
        self.0.write_all(&out.out.drained()).await.unwrap();
    }
}

fn request() -> Request {
    Request::new("/a.B/C".into(), &GetStatusRequest {}).unwrap()
}

#[tokio::test]
async fn a_call_that_is_given_up_is_cancelled_once() {
    let (sender, mut server) = connected(None).await;
    let (tx, rx) = oneshot::channel();
    let asking = sender.ask(request(), NO_CONTENT, Box::new(move |a| drop(tx.send(a))));
    assert_eq!(server.next(&[frame::HEADERS]).await.stream, 1);
    asking.cancel();
    asking.cancel();
    assert!(server.next(&[frame::RST_STREAM]).await.is_reset(1, frame::CANCEL));
    assert!(rx.await.is_err(), "nobody is told");
    // Dropping the future cancels too, unless it is answered.
    let mut call = Box::pin(sender.unary(request(), NO_CONTENT));
    tokio::select! {
        biased;
        _ = &mut call => panic!("answered"),
        begun = server.next(&[frame::HEADERS, frame::RST_STREAM]) => assert_eq!(begun.stream, 3),
    }
    drop(call);
    assert!(server.next(&[frame::RST_STREAM]).await.is_reset(3, frame::CANCEL));
    let (said, ()) = tokio::join!(sender.unary(request(), NO_CONTENT), async {
        assert_eq!(server.next(&[frame::HEADERS, frame::RST_STREAM]).await.stream, 5);
        server.answer(5, "7").await;
    });
    assert_eq!(said.err().unwrap().code(), Code::PermissionDenied);
    let again = sender.ask(request(), NO_CONTENT, Box::new(|_| {}));
    let next = server.next(&[frame::HEADERS, frame::RST_STREAM]).await;
    assert_eq!((next.kind, next.stream), (frame::HEADERS, 7));
    drop(again);
}

#[tokio::test]
async fn calls_of_a_connection_that_ends_are_unavailable() {
    let (sender, mut server) = connected(None).await;
    assert!(!sender.is_closed());
    let (said, ()) = tokio::join!(sender.unary(request(), NO_CONTENT), async {
        server.next(&[frame::HEADERS]).await;
        drop(server);
    });
    let e = said.err().unwrap();
    assert_eq!(e.code(), Code::Unavailable);
    assert!(e.message().starts_with("127.0.0.1:"), "{e}");
    assert!(sender.is_closed());
    let e = sender.unary(request(), NO_CONTENT).await.err().unwrap();
    assert_eq!(e.code(), Code::Unavailable);
}

#[tokio::test]
async fn a_connection_that_takes_no_more_calls_counts_as_closed_and_answers_what_it_has() {
    let (sender, mut server) = connected(None).await;
    let (said, ()) = tokio::join!(sender.unary(request(), NO_CONTENT), async {
        server.next(&[frame::HEADERS]).await;
        let mut bye = BytesMut::new();
        frame::put_goaway(&mut bye, 1, frame::NO_ERROR);
        server.0.write_all(&bye).await.unwrap();
        while !sender.is_closed() {
            tokio::task::yield_now().await;
        }
        server.answer(1, "5").await;
    });
    assert_eq!(said.err().unwrap().code(), Code::NotFound);
}

#[tokio::test]
async fn a_connection_ends_when_nobody_can_ask_for_anything() {
    let (sender, mut server) = connected(None).await;
    drop(sender);
    // EOF or a reset: our SETTINGS may be unread.
    let _ = server.0.read_to_end(&mut Vec::new()).await;
}

/// Keep-alive only while a call is pending.
#[tokio::test]
async fn a_server_that_is_silent_while_a_call_waits_is_asked_and_then_given_up() {
    let soon = Duration::from_millis(1);
    let (sender, mut server) = connected(Some(KeepAliveOptions { interval: soon, timeout: soon })).await;
    let (said, ()) = tokio::join!(sender.unary(request(), NO_CONTENT), async {
        server.next(&[frame::PING]).await;
    });
    let e = said.err().unwrap();
    assert_eq!(e.code(), Code::Unavailable);
    assert!(e.message().contains("keep-alive timed out"), "{e}");
}

#[test]
fn only_calls_that_the_server_has_not_processed_may_be_made_again() {
    let mut b = Bench::new();
    let refused = |ticket: &Arc<CallState>| ticket.refused.load(Ordering::Relaxed);
    let tickets: Vec<_> = (1..=4).map(|n| b.ask(n, NO_CONTENT)).collect();
    b.frames();
    Handler::reset(&mut b.calls, 1, frame::CANCEL);
    Handler::reset(&mut b.calls, 3, frame::REFUSED_STREAM);
    // Stream 5 was taken, 7 was not.
    b.calls.goaway(5);
    b.calls.fail_all("lost");
    assert_eq!(tickets.iter().map(refused).collect::<Vec<_>>(), [false, true, false, true]);
    assert_eq!(b.answered().len(), 4);
}
