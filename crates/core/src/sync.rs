//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, ignoring poisoning: data under our locks is valid between statements.
pub fn lock<T: ?Sized>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}
