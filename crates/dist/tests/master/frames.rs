//! Valid HTTP/2 that client libraries do not send: fragmented calls, padding, tiny windows.

use crate::common::*;
use crate::raw::{self, Frame, Raw};
use thalweg_proto::*;

/// A server with a session, a RunStep request for it, and a raw connection with these settings.
async fn connected(settings: &[(u16, u32)]) -> (Bench, Vec<u8>, Raw) {
    let mut b = bench().await;
    let s = b.create(CONSTANT).await;
    let request = raw::message(&step(&s, &[], &["c:0"], &[]).encode_to_vec());
    let mut peer = Raw::connect(b.server.address());
    peer.send(&[raw::PREFACE, &raw::settings(settings)].concat());
    (b, request, peer)
}

/// The response message of a stream.
fn answer(frames: &[Frame], stream: u32) -> RunStepResponse {
    let data = frames.iter().filter(|f| f.kind == raw::DATA && f.stream == stream);
    let bytes: Vec<u8> = data.flat_map(|f| f.payload.clone()).collect();
    RunStepResponse::decode(&bytes[5..]).unwrap()
}

fn fetched(frames: &[Frame], stream: u32) -> f32 {
    value(answer(frames, stream).tensor[0].tensor.as_ref().unwrap())
}

#[tokio::test]
async fn a_call_in_the_smallest_pieces_is_the_same_call() {
    let (_b, request, mut peer) = connected(&[]).await;
    let fields = raw::headers("RunStep", None);
    let (first, rest) = fields.split_at(1);
    let mut sent = raw::frame(raw::HEADERS, 0, 1, first);
    for piece in rest.chunks(3) {
        sent.extend(raw::frame(raw::CONTINUATION, 0, 1, piece));
    }
    sent.extend(raw::frame(raw::CONTINUATION, raw::END_HEADERS, 1, &[]));
    for (i, byte) in request.iter().enumerate() {
        // Each padded, then an empty one.
        let filling = i as u8 % 3;
        let payload = [&[filling, *byte][..], &vec![0; filling as usize]].concat();
        sent.extend(raw::frame(raw::DATA, raw::PADDED, 1, &payload));
        sent.extend(raw::frame(raw::DATA, 0, 1, &[]));
    }
    sent.extend(raw::frame(raw::DATA, raw::END_STREAM, 1, &[]));
    for piece in sent.chunks(7) {
        peer.send(piece);
    }
    assert_eq!(fetched(&peer.frames_until_end_of(1), 1), 3.0);
}

#[tokio::test]
async fn an_answer_goes_on_with_its_window() {
    let (_b, request, mut peer) = connected(&[(raw::INITIAL_WINDOW, 0)]).await;
    peer.send(&raw::request(1, "RunStep", &request, true));
    assert!(peer.headers(1).is_some());
    let mut frames = Vec::new();
    for _ in 0..3 {
        peer.send(&raw::frame(raw::WINDOW_UPDATE, 0, 1, &4u32.to_be_bytes()));
        let next = peer.frame().unwrap();
        assert_eq!((next.kind, next.stream, next.payload.len()), (raw::DATA, 1, 4));
        frames.push(next);
    }
    // Window by SETTINGS_INITIAL_WINDOW_SIZE, less the bytes already sent.
    peer.send(&raw::settings(&[(raw::INITIAL_WINDOW, 1000)]));
    frames.extend(peer.frames_until_end_of(1));
    assert_eq!(fetched(&frames, 1), 3.0);
}

#[tokio::test]
async fn a_ping_comes_back_before_what_was_asked_after_it() {
    let (_b, request, mut peer) = connected(&[]).await;
    peer.send(&raw::frame(raw::PING, 0, 0, b"12345678"));
    peer.send(&raw::request(1, "RunStep", &request, true));
    let frames = peer.frames_until_end_of(1);
    let ping = frames.iter().find(|f| f.kind == raw::PING).unwrap();
    assert_eq!((ping.flags, &ping.payload[..]), (raw::ACK, &b"12345678"[..]));
}

#[tokio::test]
async fn what_still_comes_of_a_refused_call_is_nothing_to_the_next() {
    let (_b, request, mut peer) = connected(&[]).await;
    // Compressed messages are rejected.
    peer.send(&raw::request(1, "RunStep", &[1, 0, 0, 0, 9], false));
    peer.frames_until_end_of(1);
    let more = raw::frame(raw::DATA, 0, 1, &[7; 500]);
    peer.send(&more);
    peer.send(&raw::request(3, "RunStep", &request, true));
    peer.send(&more);
    let frames = peer.frames_until_end_of(3);
    assert!(frames.iter().any(|f| f.kind == raw::RESET && f.stream == 1));
    assert_eq!(fetched(&frames, 3), 3.0);
}

#[tokio::test]
async fn calls_of_one_connection_are_answered_while_others_wait() {
    let (_b, request, mut peer) = connected(&[]).await;
    // An incomplete call, then a hundred others.
    peer.send(&raw::request(1, "RunStep", &request[..9], false));
    for i in 1..=100 {
        peer.send(&raw::request(2 * i + 1, "RunStep", &request, true));
    }
    // In any order.
    let (mut frames, mut ended) = (Vec::new(), 0);
    while ended < 100 {
        let f = peer.frame().unwrap();
        ended += usize::from(f.kind == raw::HEADERS && f.flags & raw::END_STREAM != 0);
        frames.push(f);
    }
    assert!((1..=100).all(|i| fetched(&frames, 2 * i + 1) == 3.0));
    peer.send(&raw::frame(raw::DATA, raw::END_STREAM, 1, &request[9..]));
    frames.extend(peer.frames_until_end_of(1));
    assert_eq!(fetched(&frames, 1), 3.0);
}
