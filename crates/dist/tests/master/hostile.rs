//! Hostile or broken peers: the server keeps serving others.

use crate::common::*;
use crate::raw::{self, Raw};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use thalweg_core::shape::Shape;
use thalweg_core::tensor::Tensor;
use thalweg_dist::{PeerLimits, RemoteRunOptions, RemoteSession, ServerOptions};
use thalweg_graph::Graph;
use thalweg_graph::convert::tensor_to_proto;
use thalweg_proto::tensor_shape_proto::Dim;
use thalweg_proto::*;
use tonic::Code;

fn limited(peers: PeerLimits) -> ServerOptions {
    ServerOptions { drain: Duration::ZERO, peers, ..Default::default() }
}

/// A server with a short stall timeout. Its honest client has made a call: a connection on
/// which no call is made is closed too.
async fn impatient() -> Bench {
    let stall_timeout = Duration::from_millis(300);
    let mut b = bench_with(limited(PeerLimits { stall_timeout, ..Default::default() })).await;
    while b.create_with(CONSTANT, ConfigProto::default()).await.is_err() {}
    b
}

/// Other clients are not affected.
async fn still_serves(b: &mut Bench) {
    let s = b.create(CONSTANT).await;
    assert_eq!(b.fetch(&s, "c:0").await, 3.0);
    b.client.close_session(CloseSessionRequest { session_handle: s }).await.unwrap();
}

/// Sends bytes on a new connection, and reads until the server closes it.
fn throw(b: &Bench, bytes: &[u8]) {
    let mut stream = TcpStream::connect(b.server.address()).unwrap();
    // The server may close before all is written.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.read_to_end(&mut Vec::new());
}

#[tokio::test]
async fn garbage_on_the_socket_ends_that_connection_only() {
    let mut b = bench().await;
    throw(&b, b"");
    throw(&b, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    throw(&b, &[0xff; 4096]);
    let mut random = raw::Random(7);
    for _ in 0..50 {
        throw(&b, &random.bytes(700));
        throw(&b, &[raw::PREFACE, &random.bytes(300)].concat());
        // Frames with valid lengths and random contents.
        let frames: Vec<u8> = (0..20).flat_map(|_| random.frame()).collect();
        throw(&b, &[raw::PREFACE, &raw::settings(&[]), &frames].concat());
    }
    still_serves(&mut b).await;
}

#[tokio::test]
async fn a_request_cut_at_any_place_is_no_request() {
    let mut b = bench().await;
    let request = CreateSessionRequest { graph_def: Some(graph(CONSTANT)), ..Default::default() };
    let whole = raw::call("CreateSession", &request.encode_to_vec());
    for end in (0..whole.len()).step_by(3) {
        throw(&b, &whole[..end]);
    }
    assert_eq!(b.server.sessions(), 0);
    let mut peer = Raw::connect(b.server.address());
    peer.send(&whole);
    // Closing the write side cancels the request: this one waits for the response.
    peer.frames_until_end_of(1);
    assert_eq!(b.server.sessions(), 1);
    let mut random = raw::Random(3);
    for length in 0..40 {
        throw(&b, &raw::call("CreateSession", &random.bytes(length * 5)));
        throw(&b, &raw::call("RunStep", &random.bytes(length * 5)));
    }
    still_serves(&mut b).await;
}

#[tokio::test]
async fn a_peer_that_says_nothing_is_let_go() {
    let mut b = impatient().await;
    let mut silent = Raw::connect(b.server.address());
    // The server sends SETTINGS, and finally GOAWAY.
    tokio::task::spawn_blocking(move || silent.frames_until_closed()).await.unwrap();
    still_serves(&mut b).await;
}

#[tokio::test]
async fn a_peer_that_never_takes_its_answer_is_let_go() {
    let mut b = impatient().await;
    let s = b.create(CONSTANT).await;
    let request = step(&s, &[], &["c:0"], &[]).encode_to_vec();
    let mut peer = Raw::connect(b.server.address());
    // A window of zero, never updated.
    peer.send(&[raw::PREFACE, &raw::settings(&[(raw::INITIAL_WINDOW, 0)])].concat());
    peer.send(&raw::request(1, "RunStep", &raw::message(&request), true));
    let frames = tokio::task::spawn_blocking(move || peer.frames_until_closed()).await.unwrap();
    assert!(frames.iter().any(|f| f.kind == raw::HEADERS && f.stream == 1));
    assert!(!frames.iter().any(|f| f.kind == raw::DATA));
    still_serves(&mut b).await;
}

#[tokio::test]
async fn a_request_that_never_ends_is_given_up() {
    let mut b = impatient().await;
    let mut peer = Raw::connect(b.server.address());
    peer.send(&[raw::PREFACE, &raw::settings(&[])].concat());
    // A gigabyte announced, six bytes sent.
    let start = [0, 0x40, 0, 0, 0, 1, 2, 3, 4, 5, 6];
    peer.send(&raw::request(1, "RunStep", &start, false));
    tokio::task::spawn_blocking(move || peer.frames_until_end_of(1)).await.unwrap();
    still_serves(&mut b).await;
}

#[tokio::test]
async fn a_request_whose_end_comes_late_is_answered_then_and_not_reset() {
    let mut b = bench().await;
    let s = b.create(CONSTANT).await;
    let request = raw::message(&step(&s, &[], &["c:0"], &[]).encode_to_vec());
    let mut peer = Raw::connect(b.server.address());
    peer.send(&[raw::PREFACE, &raw::settings(&[])].concat());
    peer.send(&raw::request(1, "RunStep", &request, false));
    peer.send(&raw::request(3, "RunStep", &request, true));
    let mut frames = peer.frames_until_end_of(3);
    peer.send(&raw::frame(raw::DATA, raw::END_STREAM, 1, &[]));
    frames.extend(peer.frames_until_end_of(1));
    assert!(!frames.iter().any(|f| f.kind == raw::RESET));
    still_serves(&mut b).await;
}

#[tokio::test]
async fn who_leaves_answers_unread_gets_no_more_of_them() {
    let mut b = bench_with(limited(PeerLimits { unread: 42_000, ..Default::default() })).await;
    let s = b.create(&format!("{CONSTANT}{SUM}")).await;
    let feed = fed("x:0", &floats(3_000));
    let request = raw::message(&step(&s, &[feed], &["y:0"], &[]).encode_to_vec());
    let mut peer = Raw::connect(b.server.address());
    peer.send(&[raw::PREFACE, &raw::settings(&[(raw::INITIAL_WINDOW, 0)])].concat());
    // In sequence: 12,000 bytes each, none of them read.
    let refused: Vec<bool> = (0..10)
        .map(|i| {
            peer.send(&raw::request(2 * i + 1, "RunStep", &request, true));
            peer.headers(2 * i + 1).is_some_and(|f| f.flags & raw::END_STREAM != 0)
        })
        .collect();
    assert_eq!(refused, [[false; 3].as_slice(), &[true; 7]].concat());
    // Others have their share.
    assert_eq!(b.run(&s, &[fed("x:0", &floats(1_000))], &["y:0"], &[]).await.status_code, 0);
    still_serves(&mut b).await;
}

#[tokio::test]
async fn connections_over_the_limit_are_closed_and_places_are_given_back() {
    let mut b = bench_with(limited(PeerLimits { connections: 2, ..Default::default() })).await;
    let mut second = Raw::connect(b.server.address());
    second.send(&[raw::PREFACE, &raw::settings(&[])].concat());
    second.frame().unwrap();
    let mut third = TcpStream::connect(b.server.address()).unwrap();
    assert!(matches!(third.read(&mut [0; 16]), Ok(0) | Err(_)));
    drop(second);
    loop {
        let mut again = Raw::connect(b.server.address());
        again.send(&[raw::PREFACE, &raw::settings(&[])].concat());
        if again.frame().is_some() {
            break;
        }
    }
    still_serves(&mut b).await;
}

fn floats(n: usize) -> Tensor {
    Tensor::from_slice(Shape::new(&[n]).unwrap(), &vec![1.0f32; n]).unwrap()
}

fn fed(name: &str, t: &Tensor) -> NamedTensorProto {
    NamedTensorProto { name: name.into(), tensor: Some(tensor_to_proto(t).unwrap()) }
}

#[tokio::test]
async fn messages_over_the_limit_are_refused_both_ways() {
    let mut b = bench_with(limited(PeerLimits { message: 1 << 20, ..Default::default() })).await;
    let s = b.create(&format!("{CONSTANT}{SUM}")).await;
    let half = fed("x:0", &floats(150_000));
    let r = b.run(&s, &[half.clone()], &["y:0"], &[]).await;
    assert_eq!(r.status_code, 0);
    let r = b.run(&s, &[half.clone()], &["y:0", "x:0"], &[]).await;
    assert_eq!(r.status_code, Code::ResourceExhausted as i32);
    assert!(r.status_error_message.contains("fetch less at a time"), "{}", r.status_error_message);
    let bare =
        RunStepRequest { store_errors_in_response_body: false, ..step(&s, &[half], &["y:0", "x:0"], &[]) };
    assert_eq!(b.client.run_step(bare).await.unwrap_err().code(), Code::ResourceExhausted);
    let e = b.client.run_step(step(&s, &[fed("x:0", &floats(300_000))], &["y:0"], &[])).await.unwrap_err();
    assert_eq!(e.code(), Code::ResourceExhausted);
    still_serves(&mut b).await;
}

#[tokio::test]
async fn unfinished_messages_share_a_limit() {
    let mut b = bench_with(limited(PeerLimits { unfinished: 1 << 20, ..Default::default() })).await;
    let s = b.create(&format!("{CONSTANT}{SUM}")).await;
    let large = step(&s, &[fed("x:0", &floats(8 << 20))], &["y:0"], &[]);
    for _ in 0..3 {
        assert_eq!(b.client.run_step(large.clone()).await.unwrap_err().code(), Code::ResourceExhausted);
    }
    assert_eq!(b.run(&s, &[fed("x:0", &floats(1000))], &["y:0"], &[]).await.status_code, 0);
    still_serves(&mut b).await;
}

#[tokio::test]
async fn giant_shapes_are_refused() {
    let mut b = bench().await;
    let s = b.create(&format!("{CONSTANT}{SUM}")).await;
    for dims in [vec![1 << 62], vec![1 << 31, 1 << 31, 1 << 31], vec![1 << 40], vec![-1], vec![1; 300]] {
        let dim = dims.iter().map(|d| Dim { size: *d, ..Default::default() }).collect();
        let tensor_shape = Some(TensorShapeProto { dim, unknown_rank: false });
        let tensor = TensorProto { dtype: 1, tensor_shape, ..Default::default() };
        let feed = NamedTensorProto { name: "x:0".into(), tensor: Some(tensor) };
        let r = b.run(&s, &[feed], &["y:0"], &[]).await;
        assert_ne!(r.status_code, 0, "{dims:?}");
    }
    let giant = CONSTANT.replace("tensor_shape {}", "tensor_shape { dim { size: 1099511627776 } }");
    let s = b.create(&giant).await;
    assert_eq!(b.run(&s, &[], &["c:0"], &[]).await.status_code, 8, "the step that needs it is refused");
    still_serves(&mut b).await;
}

/// Regression: a session whose idle connection the server had closed for another peer failed its next step.
#[tokio::test]
async fn a_call_on_a_connection_that_is_retired_is_made_again_on_another() {
    let b = bench().await;
    let (server, listener) = (b.server.address(), TcpListener::bind("127.0.0.1:0").unwrap());
    let target = format!("grpc://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        // The first connection gets SETTINGS, and GOAWAY that refuses all its calls.
        let (mut first, _) = listener.accept().unwrap();
        first.write_all(&raw::settings(&[])).unwrap();
        first.read_exact(&mut [0; 24]).unwrap();
        first.write_all(&raw::frame(raw::GOAWAY, 0, 0, &[0; 8])).unwrap();
        let (client, _) = listener.accept().unwrap();
        let server = TcpStream::connect(server).unwrap();
        let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let there = std::thread::spawn(move || drop(std::io::copy(&mut from, &mut to)));
        drop(std::io::copy(&mut { server }, &mut { client }));
        drop((first, there));
    });
    let def = text::parse_graph_def(&format!("{CONSTANT}{SUM}")).unwrap();
    let graph = Graph::from_def(Arc::new(thalweg_ops::registry()), &def).unwrap();
    let session = RemoteSession::connect(&target, &graph, ConfigProto::default()).unwrap();
    let one = Tensor::scalar(1.0f32);
    let got =
        session.run(&[("x:0".into(), one)], &["y:0".into()], &[], &RemoteRunOptions::default()).unwrap();
    assert_eq!(got.0.len(), 1);
    drop(session);
    drop((b, serving));
}
