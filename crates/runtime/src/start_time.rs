//! How long the last start of something kept its thread: who must not be kept for long asks before the next.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What part of the difference is forgotten with each shorter one.
const FORGET: u64 = 32;

/// Nanoseconds; 0 before the first start.
#[derive(Default)]
pub struct StartTime(AtomicU64);

impl StartTime {
    pub fn note(&self, t: Duration) {
        self.0.store((t.as_nanos() as u64).max(1), Ordering::Relaxed);
    }

    /// As `note`, where long and short ones alternate: the longest counts, and is forgotten slowly.
    pub fn note_longest(&self, t: Duration) {
        let (new, old) = ((t.as_nanos() as u64).max(1), self.0.load(Ordering::Relaxed));
        let kept = old.saturating_sub(old.saturating_sub(new).div_ceil(FORGET));
        self.0.store(new.max(kept), Ordering::Relaxed);
    }

    /// Whether the last start took no longer; false before the first.
    pub fn within(&self, limit: Duration) -> bool {
        match self.0.load(Ordering::Relaxed) {
            0 => false,
            n => Duration::from_nanos(n) <= limit,
        }
    }
}
