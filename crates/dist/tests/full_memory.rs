//! A server whose memory is full up to the ceiling, where the allocator refuses large blocks.

#[path = "master/raw.rs"]
#[allow(dead_code, reason = "written for the tests of the master")]
mod raw;

use raw::Raw;
use std::sync::Arc;
use thalweg_core::memory::{Counting, Limits, set_limits};
use thalweg_dist::{Server, ServerOptions};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn hello(server: &Server) -> Raw {
    let mut peer = Raw::connect(server.address());
    peer.send(&[raw::PREFACE, &raw::settings(&[])].concat());
    peer
}

/// Regression: each connection allocated 128 KiB at once, which aborted the process.
#[test]
fn new_connections_are_served_and_frames_without_room_end_theirs() {
    let server = Server::start(Arc::new(thalweg_ops::registry()), ServerOptions::default()).unwrap();
    set_limits(Limits { limit: 0, ceiling: 0 });
    let mut peers: Vec<Raw> = (0..20).map(|_| hello(&server)).collect();
    for peer in &mut peers {
        peer.send(&raw::frame(raw::PING, 0, 0, b"are_here"));
        while peer.frame().expect("the connection is open").payload != b"are_here" {}
    }
    let mut large = hello(&server);
    large.send(&raw::frame(raw::HEADERS, raw::END_HEADERS, 1, &[0; 40_000]));
    let refused = std::iter::from_fn(|| large.frame()).find(|f| f.kind == raw::GOAWAY);
    set_limits(Limits { limit: usize::MAX, ceiling: usize::MAX });
    const ENHANCE_YOUR_CALM: u8 = 11;
    assert_eq!(refused.expect("GOAWAY").payload.get(7), Some(&ENHANCE_YOUR_CALM));
}
