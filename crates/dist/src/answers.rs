//! Answers of a connection that the peer has not taken yet.

use crate::peers::{Budget, PeerLimits, Share};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use thalweg_core::resource::lock;
use tonic::Status;

/// When each of them must have been taken.
pub struct Answers {
    due: Mutex<HashMap<u64, Instant>>,
    next: AtomicU64,
    asked: AtomicBool,
    unread: Arc<Budget>,
}

/// Bytes in a second below which a peer counts as one that does not read.
const SLOWEST: usize = 64 << 10;

impl Answers {
    pub fn new(unread: Arc<Budget>) -> Answers {
        Answers { due: Mutex::default(), next: AtomicU64::new(0), asked: AtomicBool::new(false), unread }
    }

    /// Notes that the peer has asked for something.
    pub fn expected(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    pub fn has_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// An answer of so many bytes is on its way until the result is dropped. Who takes its answers always gets the next one;
    /// who does not, only as long as there is room for answers that nobody takes.
    pub fn sending(self: &Arc<Answers>, bytes: usize, limits: &PeerLimits) -> Result<Sending, Status> {
        let mut share = Share::of(&self.unread);
        let fits = share.hold(bytes);
        let mut due = lock(&self.due);
        if !fits && !due.is_empty() {
            return Err(Status::resource_exhausted(format!(
                "{} answers on this connection have not been read, and the server holds no more of them",
                due.len()
            )));
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        due.insert(number, Instant::now() + limits.patience + Duration::from_secs((bytes / SLOWEST) as u64));
        Ok(Sending { answers: self.clone(), number, _share: share })
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
    _share: Share,
}

impl Drop for Sending {
    fn drop(&mut self) {
        lock(&self.answers.due).remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patience(patience: Duration) -> PeerLimits {
        PeerLimits { patience, ..Default::default() }
    }

    #[test]
    fn an_answer_is_overdue_until_it_is_taken() {
        let answers = Arc::new(Answers::new(Arc::new(Budget::new(usize::MAX))));
        let quick = answers.sending(10, &patience(Duration::from_secs(60))).ok();
        assert!(!answers.overdue());
        let late = answers.sending(10, &patience(Duration::ZERO)).ok();
        while !answers.overdue() {}
        drop(late);
        assert!(!answers.overdue());
        let large = answers.sending(100 * SLOWEST, &patience(Duration::ZERO)).ok();
        assert!(!answers.overdue());
        drop((quick, large));
        assert!(lock(&answers.due).is_empty());
    }

    #[test]
    fn who_leaves_answers_gets_no_more_when_there_is_no_room() {
        let unread = Arc::new(Budget::new(100));
        let (bad, good) = (Arc::new(Answers::new(unread.clone())), Arc::new(Answers::new(unread)));
        let limits = PeerLimits::default();
        let held = [bad.sending(60, &limits).ok(), bad.sending(40, &limits).ok()];
        assert!(held.iter().all(Option::is_some));
        assert!(bad.sending(1, &limits).is_err());
        for _ in 0..3 {
            assert!(good.sending(1000, &limits).is_ok());
        }
        drop(held);
        assert!(bad.sending(100, &limits).is_ok());
    }
}
