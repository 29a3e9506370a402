//! How long a piece of work last occupied its thread: callers that must not block a thread for long check it first.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Each shorter duration removes this fraction of the difference.
const DECAY: u64 = 32;

/// Nanoseconds; 0: none yet.
#[derive(Default)]
pub struct LastDuration(AtomicU64);

impl LastDuration {
    pub fn note(&self, t: Duration) {
        self.0.store((t.as_nanos() as u64).max(1), Ordering::Relaxed);
    }

    /// As `note`, for alternating durations: keeps the maximum, with slow decay.
    pub fn note_longest(&self, t: Duration) {
        let (new, old) = ((t.as_nanos() as u64).max(1), self.0.load(Ordering::Relaxed));
        let kept = old.saturating_sub(old.saturating_sub(new).div_ceil(DECAY));
        self.0.store(new.max(kept), Ordering::Relaxed);
    }

    /// Whether the last was within the limit; false before it.
    pub fn within(&self, limit: Duration) -> bool {
        match self.0.load(Ordering::Relaxed) {
            0 => false,
            n => Duration::from_nanos(n) <= limit,
        }
    }
}
