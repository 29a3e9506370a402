//! Memory budgets shared by several accounts.
//!
//! The rule is the dynamic threshold of shared-memory switches: an account may hold at most `SHARE` times what is still free.
//! One account alone gets eight ninths of the pool, two get eight seventeenths each, and a new account always finds room.

use crate::error::{Result, resource_exhausted};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many times the free memory an account may hold.
const SHARE: usize = 8;

/// Whether an account may hold `own` bytes if `free` are free.
#[inline]
pub fn is_within_share(own: usize, free: usize) -> bool {
    own <= free.saturating_mul(SHARE)
}

/// The memory shared by accounts.
#[derive(Debug)]
pub struct Pool {
    limit: usize,
    held: AtomicUsize,
}

impl Pool {
    pub fn new(limit: usize) -> Arc<Pool> {
        Arc::new(Pool { limit, held: AtomicUsize::new(0) })
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes that all accounts hold together.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    pub fn account(self: &Arc<Pool>) -> Arc<Account> {
        Arc::new(Account { pool: self.clone(), held: AtomicUsize::new(0) })
    }
}

/// The share of a party (a peer, a session) in a pool.
#[derive(Debug)]
pub struct Account {
    pool: Arc<Pool>,
    held: AtomicUsize,
}

impl Account {
    /// Bytes that it holds.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Reserves bytes; the error says how many are free.
    pub fn charge(self: &Arc<Account>, bytes: usize) -> Result<Charge> {
        let mut charge = Charge { account: self.clone(), bytes: 0 };
        charge.resize(bytes)?;
        Ok(charge)
    }

    fn take(&self, bytes: usize) -> Result<()> {
        // Rejected before adding: the sums must not overflow.
        let added = if bytes <= self.pool.limit { bytes } else { 0 };
        let own = self.held.fetch_add(added, Ordering::Relaxed);
        let all = self.pool.held.fetch_add(added, Ordering::Relaxed);
        let free = self.pool.limit.saturating_sub(all.saturating_add(bytes));
        if is_within_share(own.saturating_add(bytes), free) {
            return Ok(());
        }
        self.release(added);
        Err(resource_exhausted(format_args!(
            "{bytes} bytes more are over the share of memory: {own} are held here, {all} of {} by all",
            self.pool.limit
        )))
    }

    fn release(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        self.pool.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Bytes reserved from an account, released when dropped.
#[derive(Debug)]
pub struct Charge {
    account: Arc<Account>,
    bytes: usize,
}

impl Charge {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Resizes the reservation. On an error it is unchanged.
    pub fn resize(&mut self, bytes: usize) -> Result<()> {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.account.take(more)?,
            None => self.account.release(self.bytes - bytes),
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.account.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_much_leaves_room_for_who_comes_new() {
        let pool = Pool::new(9_000);
        let (hog, other) = (pool.account(), pool.account());
        let most = hog.charge(8_000).unwrap();
        assert!(hog.charge(1).is_err());
        let some = other.charge(800).unwrap();
        assert!(other.charge(200).is_err());
        drop(most);
        assert_eq!((hog.held(), pool.held()), (0, 800));
        assert!(hog.charge(7_000).is_ok());
        drop(some);
        assert_eq!(pool.held(), 0);
    }

    #[test]
    fn a_charge_that_cannot_grow_stays_as_it_was() {
        let pool = Pool::new(900);
        let account = pool.account();
        let mut charge = account.charge(100).unwrap();
        assert!(charge.resize(900).is_err());
        assert!(charge.resize(usize::MAX).is_err());
        assert_eq!((charge.bytes(), account.held(), pool.held()), (100, 100, 100));
        charge.resize(800).unwrap();
        charge.resize(50).unwrap();
        assert_eq!((charge.bytes(), account.held(), pool.held()), (50, 50, 50));
    }
}
