//! Sessions that are never closed. A process of its own: it measures memory.

#[path = "master/client.rs"]
#[allow(dead_code, reason = "written for the tests of the master")]
mod client;
#[path = "master/common.rs"]
#[allow(dead_code, reason = "written for the tests of the master")]
mod common;

use common::*;
use thalweg_dist::ServerOptions;

#[tokio::test]
async fn ten_thousand_abandoned_sessions_take_no_more_room_than_a_hundred() {
    let mut b = bench_with(ServerOptions { max_sessions: 100, ..Default::default() }).await;
    let text = format!("{CONSTANT}{SUM}{VARIABLE}{QUEUE}");
    let (mut last, mut early) = (String::new(), 0);
    for i in 0..10_000 {
        last = b.create(&text).await;
        if i == 2_000 {
            early = resident();
        }
    }
    assert_eq!(b.server.sessions(), 100);
    let grown = resident().saturating_sub(early);
    assert!(grown < 32 << 20, "{grown} bytes more after 10,000 sessions than after 2,000");
    assert_eq!(b.fetch(&last, "c:0").await, 3.0);
}

/// Resident memory of this process; 0 if unknown.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}
