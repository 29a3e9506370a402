//! Ids of the requests that a task sends to others.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// Ids are unique. A worker rejects a known id as a retry, so tasks start at random ids.
pub struct RequestIds(AtomicU64);

impl Default for RequestIds {
    fn default() -> RequestIds {
        RequestIds(AtomicU64::new(RandomState::new().build_hasher().finish()))
    }
}

impl RequestIds {
    /// Never 0, which means "none".
    pub fn next(&self) -> i64 {
        let n = self.0.fetch_add(1, Ordering::Relaxed);
        (n & i64::MAX as u64).max(1) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn requests_have_numbers_of_their_own_that_begin_anywhere() {
        let (one, other) = (RequestIds::default(), RequestIds::default());
        let ids: Vec<i64> = (0..1000).flat_map(|_| [one.next(), other.next()]).collect();
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
        // 2^20 of 2^63 start ids are below this.
        assert!(ids.iter().all(|id| *id > 1 << 20), "{ids:?}");
    }
}
