//! Resource limits of peers.

use std::time::Duration;
use thalweg_core::budget::Pool;

/// Limits on peers, honest or hostile.
#[derive(Clone, Copy, Debug)]
pub struct PeerLimits {
    /// Connections of one address; idle ones are evicted. An eighth more are reserved for others.
    pub connections: usize,
    /// Concurrent calls of a connection. Steps may wait for each other, so this must not be small.
    pub calls: u32,
    /// Bytes of one message, in or out.
    pub message: usize,
    /// Bytes of incomplete messages and of calls in flight.
    pub unfinished: usize,
    /// Bytes of responses that peers have not read.
    pub unread: usize,
    /// Timeout of a stalled request or an unread response. Large responses get more time, and
    /// all get less when memory is tight.
    pub stall_timeout: Duration,
}

impl Default for PeerLimits {
    fn default() -> Self {
        PeerLimits {
            connections: 16_384,
            calls: 10_000,
            // The limit of Protocol Buffers.
            message: i32::MAX as usize,
            unfinished: 4 << 30,
            unread: 4 << 30,
            stall_timeout: Duration::from_secs(60),
        }
    }
}

/// Bytes per second below which a peer counts as stalled, while memory is tight.
pub const SLOWEST: usize = 64 << 10;

/// The timeout of stalled peers, given the free memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StallTimeout {
    pub silence: Duration,
    /// Memory is tight: slow transfers time out too.
    pub tight: bool,
}

impl StallTimeout {
    /// Undiminished while half of the pool is free; below, in proportion.
    pub fn for_pool(pool: &Pool, stall_timeout: Duration) -> StallTimeout {
        let free = 1.0 - pool.held() as f64 / pool.limit().max(1) as f64;
        StallTimeout { silence: stall_timeout.mul_f64((2.0 * free).clamp(0.01, 1.0)), tight: free < 0.5 }
    }

    /// Whether a transfer of this age, silence and size has timed out.
    pub fn is_exceeded(&self, age: Duration, silent: Duration, bytes: usize) -> bool {
        let fair = self.silence + Duration::from_secs((bytes / SLOWEST) as u64);
        silent > self.silence || self.tight && age > fair
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_shrinks_with_the_memory_that_is_left() {
        let pool = Pool::new(1000);
        let account = pool.account();
        let minute = Duration::from_secs(60);
        let slow = |p: StallTimeout| p.is_exceeded(Duration::from_secs(100), Duration::ZERO, SLOWEST);
        let all = StallTimeout::for_pool(&pool, minute);
        assert_eq!(all, StallTimeout { silence: minute, tight: false });
        assert!(!slow(all) && all.is_exceeded(minute, minute + Duration::from_nanos(1), usize::MAX));
        let _held = account.charge(800).unwrap();
        let less = StallTimeout::for_pool(&pool, minute);
        assert!(less.tight && less.silence < minute / 2 && less.silence > minute / 3, "{less:?}");
        assert!(slow(less) && !less.is_exceeded(Duration::from_secs(100), Duration::ZERO, 100 * SLOWEST));
    }

    #[test]
    fn half_a_pool_is_room_enough() {
        let pool = Pool::new(1000);
        let account = pool.account();
        let minute = Duration::from_secs(60);
        let _half = account.charge(500).unwrap();
        assert_eq!(StallTimeout::for_pool(&pool, minute), StallTimeout { silence: minute, tight: false });
        let _more = account.charge(1).unwrap();
        assert!(StallTimeout::for_pool(&pool, minute).tight);
        // When memory is tight, `SLOWEST` extends the timeout by the bytes.
        let tight = StallTimeout { silence: minute, tight: true };
        for (age, bytes, over) in [(60, 0, false), (61, SLOWEST - 1, true), (61, SLOWEST, false)] {
            assert_eq!(tight.is_exceeded(Duration::from_secs(age), minute, bytes), over, "{age} {bytes}");
        }
    }
}
