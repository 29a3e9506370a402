//! What the other ends of connections may cost.

use crate::answers::Answers;
use crate::auth::{Caller, Origin};
use crate::http2::Head;
use crate::master::Master;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tonic::Status;

/// Limits on peers, well-meaning or not.
#[derive(Clone, Copy, Debug)]
pub struct PeerLimits {
    /// Connections at a time; more are closed at once.
    pub connections: usize,
    /// Calls at a time on one connection. Steps may wait for each other, so this must not be small.
    pub calls: u32,
    /// Bytes of one message, in or out.
    pub message: usize,
    /// Bytes held at a time for messages that have not arrived as a whole.
    pub unfinished: usize,
    /// Bytes of answers that wait to be taken; peers that have left answers get no more beyond it.
    pub unread: usize,
    /// How long a peer may keep silent in the middle of a request, or leave an answer unread. Large answers get more time.
    pub patience: Duration,
}

impl Default for PeerLimits {
    fn default() -> Self {
        PeerLimits {
            connections: 1000,
            calls: 10_000,
            // Protocol buffers can be no larger.
            message: i32::MAX as usize,
            unfinished: 4 << 30,
            unread: 4 << 30,
            patience: Duration::from_secs(60),
        }
    }
}

/// The other end of a connection, with what its requests need.
#[derive(Clone)]
pub struct Peer {
    pub master: Master,
    pub limits: PeerLimits,
    /// Memory of all messages of the server that have not arrived as a whole.
    pub unfinished: Arc<Budget>,
    pub answers: Arc<Answers>,
    /// There as long as the connection is.
    pub line: Arc<Line>,
    pub origin: Origin,
}

impl Peer {
    /// Who makes the call that these headers begin, if it may.
    pub fn admit(&self, head: &Head) -> Result<Caller, Status> {
        let path = head.path.as_deref().unwrap_or_default();
        self.master.gate.admit(&self.origin, head.authorization.as_deref(), path)
    }
}

/// A connection, for those who want to know whether it is still there.
#[derive(Default)]
pub struct Line;

/// Bytes that all peers of a server share.
pub struct Budget {
    held: AtomicUsize,
    limit: usize,
}

impl Budget {
    pub fn new(limit: usize) -> Budget {
        Budget { held: AtomicUsize::new(0), limit }
    }
}

/// A part of it, given back at the end.
pub struct Share {
    of: Arc<Budget>,
    bytes: usize,
}

impl Share {
    pub fn of(of: &Arc<Budget>) -> Share {
        Share { of: of.clone(), bytes: 0 }
    }

    /// Makes it so many bytes (it never shrinks); whether all shares together are still within the limit.
    #[must_use]
    pub fn hold(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        self.bytes += more;
        let before = self.of.held.fetch_add(more, Ordering::Relaxed);
        before.saturating_add(more) <= self.of.limit
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_given_back_whether_granted_or_not() {
        let all = Arc::new(Budget::new(100));
        let mut one = Share::of(&all);
        assert!(one.hold(60));
        let mut two = Share::of(&all);
        assert!(!two.hold(50));
        drop(two);
        assert!(one.hold(100));
        drop(one);
        assert_eq!(all.held.load(Ordering::Relaxed), 0);
    }
}
