//! Responses of a connection that the peer has not read.

use super::limits::{PeerLimits, StallTimeout};
use crate::wire::Status;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use thalweg_core::budget::{Account, Charge, Pool};
use thalweg_core::error::Code;
use thalweg_core::sync::lock;
use tokio::time::{Duration, Instant};

pub struct UnreadResponses {
    /// The start and size of each.
    waiting: Mutex<HashMap<u64, (Instant, usize)>>,
    next: AtomicU64,
    asked: AtomicBool,
    pool: Arc<Pool>,
    unread: Arc<Account>,
}

impl UnreadResponses {
    /// For one connection; the pool is shared.
    pub fn new(pool: &Arc<Pool>) -> UnreadResponses {
        UnreadResponses {
            waiting: Mutex::default(),
            next: AtomicU64::new(0),
            asked: AtomicBool::new(false),
            pool: pool.clone(),
            unread: pool.account(),
        }
    }

    /// The peer has made a call.
    pub fn expected(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    pub fn has_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Charges a response of this size until the result is dropped.
    pub fn sending(self: &Arc<UnreadResponses>, bytes: usize) -> Result<UnreadResponse, Status> {
        let charge = self.unread.charge(bytes).map_err(|e| {
            let unread = lock(&self.waiting).len();
            Status::new(Code::ResourceExhausted, format!(
                "an answer of {bytes} bytes, with {unread} on this connection that have not been read: {}",
                e.message()
            ))
        })?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.waiting).insert(number, (Instant::now(), bytes));
        Ok(UnreadResponse { unread: self.clone(), number, _charge: charge })
    }

    /// Whether a response has timed out.
    pub fn overdue(&self, limits: &PeerLimits) -> bool {
        let timeout =
            StallTimeout { tight: true, ..StallTimeout::for_pool(&self.pool, limits.stall_timeout) };
        let waiting = lock(&self.waiting);
        waiting.values().any(|(since, bytes)| timeout.is_exceeded(since.elapsed(), Duration::ZERO, *bytes))
    }
}

pub struct UnreadResponse {
    unread: Arc<UnreadResponses>,
    number: u64,
    _charge: Charge,
}

impl Drop for UnreadResponse {
    fn drop(&mut self) {
        lock(&self.unread.waiting).remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::super::limits::SLOWEST;
    use super::*;

    fn limits(stall_timeout: Duration) -> PeerLimits {
        PeerLimits { stall_timeout, ..Default::default() }
    }

    #[test]
    fn an_answer_is_overdue_until_it_is_taken() {
        let answers = Arc::new(UnreadResponses::new(&Pool::new(1 << 40)));
        let small = answers.sending(10).ok();
        assert!(!answers.overdue(&limits(Duration::from_secs(60))));
        while !answers.overdue(&limits(Duration::ZERO)) {}
        drop(small);
        assert!(!answers.overdue(&limits(Duration::ZERO)));
        let large = answers.sending(100 * SLOWEST).ok();
        assert!(!answers.overdue(&limits(Duration::ZERO)));
        drop(large);
        assert!(lock(&answers.waiting).is_empty());
    }

    /// Regression: each connection was allowed one response regardless: fourteen held gigabytes past the limit.
    #[test]
    fn unread_answers_of_many_connections_stay_within_the_limit() {
        let pool = Pool::new(9_000);
        let mut held = Vec::new();
        for _ in 0..20 {
            held.extend(Arc::new(UnreadResponses::new(&pool)).sending(4_000).ok());
        }
        assert_eq!((held.len(), pool.held()), (2, 8_000));
        // A new peer's smaller response fits.
        let good = Arc::new(UnreadResponses::new(&pool));
        assert!(good.sending(800).is_ok());
        drop(held);
        assert_eq!(pool.held(), 0);
    }
}
