//! Parallel for, independent of the thread pool.
//!
//! Numeric code takes a `&dyn Parallel` and runs `0..n` on it. Tests and small
//! programs pass [`Serial`]; the runtime passes its [`Pool`](crate::pool::Pool).

use std::ops::Range;

/// An executor of parallel for loops.
pub trait Parallel: Sync {
    /// The most threads that run one loop, the caller included. At least 1.
    fn threads(&self) -> usize;

    /// A fork-join loop: splits `0..n` into disjoint ranges, calls `body` once for each, and
    /// returns when all calls have returned.
    ///
    /// Every range starts at a multiple of the grain size and has at least that many items,
    /// except that the last may be shorter. If `n <= grain`, or there is one thread,
    /// `body` is called once, here, with the whole of `0..n`; if `n` is 0 it is not
    /// called. A panic in `body` is propagated to the caller after the other calls in
    /// progress have ended; ranges not yet started are then dropped.
    fn run_ranges(&self, n: usize, grain: usize, body: &(dyn Fn(Range<usize>) + Sync));
}

/// Runs everything on the calling thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Serial;

impl Parallel for Serial {
    fn threads(&self) -> usize {
        1
    }

    fn run_ranges(&self, n: usize, _grain: usize, body: &(dyn Fn(Range<usize>) + Sync)) {
        if n > 0 {
            body(0..n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn serial_makes_one_call_or_none() {
        let calls = Mutex::new(Vec::new());
        Serial.run_ranges(10, 3, &|r| calls.lock().unwrap().push((r.start, r.end)));
        Serial.run_ranges(0, 3, &|r| calls.lock().unwrap().push((r.start, r.end)));
        assert_eq!(calls.into_inner().unwrap(), vec![(0, 10)]);
    }
}
