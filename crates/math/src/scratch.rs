//! Scratch buffers whose size depends on the data.
//!
//! Loops return no `Result`: a failed allocation unwinds with [`NoMemory`], through the pool to the caller of the kernel,
//! where it becomes ResourceExhausted (`core::kernel::caught`). `vec![..]` would abort the process.

use std::collections::TryReserveError;
use std::panic::resume_unwind;

/// The payload that a loop unwinds with when an allocation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory {
    pub bytes: usize,
}

/// An empty vector with capacity for `n`.
pub fn with_capacity<T>(n: usize) -> Vec<T> {
    let mut items = Vec::new();
    got::<T>(items.try_reserve_exact(n), n);
    items
}

/// `n` copies of a value.
pub fn filled<T: Clone>(n: usize, value: T) -> Vec<T> {
    let mut items = with_capacity(n);
    items.resize(n, value);
    items
}

/// Collects an iterator; one with an exact size hint needs one allocation.
pub fn collect<T>(from: impl IntoIterator<Item = T>) -> Vec<T> {
    let from = from.into_iter();
    let mut items = with_capacity(from.size_hint().0);
    for item in from {
        if items.len() == items.capacity() {
            got::<T>(items.try_reserve(1), items.len() + 1);
        }
        items.push(item);
    }
    items
}

fn got<T>(memory: Result<(), TryReserveError>, n: usize) {
    if memory.is_err() {
        out_of_memory::<T>(n);
    }
}

/// Unwinds where `n` items cannot be allocated.
pub fn out_of_memory<T>(n: usize) -> ! {
    // Without the panic hook: this is no bug of the program.
    resume_unwind(Box::new(NoMemory { bytes: n.saturating_mul(size_of::<T>()) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn memory_that_cannot_be_had_unwinds_with_its_size() {
        let too_much = usize::MAX / 16;
        let payload = catch_unwind(|| filled(too_much, 0u64)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&NoMemory { bytes: too_much * 8 }));
    }

    #[test]
    fn vectors_hold_what_they_were_asked_for() {
        assert_eq!(filled(3, 7u8), [7, 7, 7]);
        assert_eq!(collect((0..100).filter(|i| i % 3 == 0)), (0..100).step_by(3).collect::<Vec<_>>());
        assert!(with_capacity::<u32>(10).capacity() >= 10);
    }
}
