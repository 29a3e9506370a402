//! The ceiling of the process, by the allocator of programs.

use std::sync::Barrier;
use thalweg_core::memory::{Counting, Limits, live, set_limits};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MB: usize = 1 << 20;

/// Regression: threads that asked at the same time all found room, and together passed the ceiling by a block each.
#[test]
fn threads_that_allocate_at_once_do_not_pass_the_ceiling_together() {
    const THREADS: usize = 8;
    let barrier = Barrier::new(THREADS);
    let limit = live() + 16 * MB;
    let limits = Limits { limit, ceiling: limit + 48 * MB };
    set_limits(limits);
    let passed = std::thread::scope(|scope| {
        let all: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    (0..2000).fold(false, |before, _| {
                        barrier.wait();
                        let mut block: Vec<u8> = Vec::new();
                        let has = block.try_reserve_exact(30 * MB).is_ok();
                        barrier.wait();
                        // All that found room hold their blocks now.
                        let passed = has && live() > limits.ceiling;
                        barrier.wait();
                        before | passed
                    })
                })
            })
            .collect();
        all.into_iter().any(|t| t.join().unwrap())
    });
    set_limits(Limits { limit: usize::MAX, ceiling: usize::MAX });
    assert!(!passed);
}
