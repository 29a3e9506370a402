//! What the other ends of connections may cost.

use crate::master::Master;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use thalweg_core::resource::lock;
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
            patience: Duration::from_secs(60),
        }
    }
}

/// The other end of a connection, with what its requests need.
#[derive(Clone)]
pub struct Peer {
    pub master: Master,
    pub limits: PeerLimits,
    pub unfinished: Arc<Unfinished>,
    pub answers: Arc<Answers>,
}

/// Memory of all messages of a server that have not arrived as a whole.
pub struct Unfinished {
    held: AtomicUsize,
    limit: usize,
}

impl Unfinished {
    pub fn new(limit: usize) -> Unfinished {
        Unfinished { held: AtomicUsize::new(0), limit }
    }
}

/// One message's part of it, given back at the end.
pub struct Share<'a> {
    of: &'a Unfinished,
    bytes: usize,
}

impl<'a> Share<'a> {
    pub fn of(of: &'a Unfinished) -> Share<'a> {
        Share { of, bytes: 0 }
    }

    pub fn grow(&mut self, bytes: usize) -> Result<(), Status> {
        self.bytes = self.bytes.saturating_add(bytes);
        let before = self.of.held.fetch_add(bytes, Ordering::Relaxed);
        match before.saturating_add(bytes) <= self.of.limit {
            true => Ok(()),
            false => Err(Status::resource_exhausted(format!(
                "the server holds {before} bytes of messages that have not arrived as a whole; its limit is {}",
                self.of.limit
            ))),
        }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.of.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Answers of a connection that the peer has not taken yet, and when it must have.
#[derive(Default)]
pub struct Answers {
    due: Mutex<HashMap<u64, Instant>>,
    next: AtomicU64,
    asked: AtomicBool,
}

/// Bytes in a second below which a peer counts as one that does not read.
const SLOWEST: usize = 64 << 10;

impl Answers {
    /// Notes that the peer has asked for something.
    pub fn expected(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    pub fn has_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// An answer of so many bytes is on its way until the result is dropped.
    pub fn sending(self: &Arc<Answers>, bytes: usize, patience: Duration) -> Sending {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let due = Instant::now() + patience + Duration::from_secs((bytes / SLOWEST) as u64);
        lock(&self.due).insert(number, due);
        Sending { answers: self.clone(), number }
    }

    /// Whether an answer should have been taken before now.
    pub fn overdue(&self) -> bool {
        let now = Instant::now();
        lock(&self.due).values().any(|due| *due < now)
    }
}

pub struct Sending {
    answers: Arc<Answers>,
    number: u64,
}

impl Drop for Sending {
    fn drop(&mut self) {
        lock(&self.answers.due).remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_overdue_until_it_is_taken() {
        let answers = Arc::new(Answers::default());
        let quick = answers.sending(10, Duration::from_secs(60));
        assert!(!answers.overdue());
        let late = answers.sending(10, Duration::ZERO);
        while !answers.overdue() {}
        drop(late);
        assert!(!answers.overdue());
        let large = answers.sending(100 * SLOWEST, Duration::ZERO);
        assert!(!answers.overdue());
        drop((quick, large));
        assert!(lock(&answers.due).is_empty());
    }

    #[test]
    fn shares_are_given_back_whether_granted_or_not() {
        let all = Unfinished::new(100);
        let mut one = Share::of(&all);
        one.grow(60).unwrap();
        let mut two = Share::of(&all);
        assert_eq!(two.grow(50).unwrap_err().code(), tonic::Code::ResourceExhausted);
        drop(two);
        one.grow(40).unwrap();
        drop(one);
        assert_eq!(all.held.load(Ordering::Relaxed), 0);
    }
}
