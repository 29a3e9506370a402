//! How long something last kept its thread: callers whose thread must not be kept for long ask before they start it again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// With each shorter duration, one part in so many of the difference is forgotten.
const DECAY: u64 = 32;

/// Nanoseconds; 0 before the first.
#[derive(Default)]
pub struct LastDuration(AtomicU64);

impl LastDuration {
    pub fn note(&self, t: Duration) {
        self.0.store((t.as_nanos() as u64).max(1), Ordering::Relaxed);
    }

    /// As `note`, where long and short ones alternate: the longest counts, and decays slowly.
    pub fn note_longest(&self, t: Duration) {
        let (new, old) = ((t.as_nanos() as u64).max(1), self.0.load(Ordering::Relaxed));
        let kept = old.saturating_sub(old.saturating_sub(new).div_ceil(DECAY));
        self.0.store(new.max(kept), Ordering::Relaxed);
    }

    /// Whether the last one was no longer; false before the first.
    pub fn within(&self, limit: Duration) -> bool {
        match self.0.load(Ordering::Relaxed) {
            0 => false,
            n => Duration::from_nanos(n) <= limit,
        }
    }
}
