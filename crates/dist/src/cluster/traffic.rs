//! Bytes received from and sent to another task.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts our own calls and those of the peer.
#[derive(Default)]
pub struct Traffic {
    received: AtomicU64,
    sent: AtomicU64,
}

impl Traffic {
    pub fn note(&self, received: usize, sent: usize) {
        self.received.fetch_add(received as u64, Ordering::Relaxed);
        self.sent.fetch_add(sent as u64, Ordering::Relaxed);
    }

    pub fn with(&self, task: &str) -> PeerTraffic {
        let read = |n: &AtomicU64| n.load(Ordering::Relaxed);
        PeerTraffic { task: task.to_string(), received: read(&self.received), sent: read(&self.sent) }
    }
}

/// Bytes of messages and tensors since the start of this task, without protocol overhead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerTraffic {
    /// `/job:ps/replica:0/task:0`.
    pub task: String,
    pub received: u64,
    pub sent: u64,
}
