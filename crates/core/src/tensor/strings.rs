//! The elements of a string tensor, and the holder to which their memory is charged.

use crate::error::{Result, internal};
use crate::memory::{Held, Holder};
use crate::reserve;
use bytes::Bytes;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// Strings shared by tensors.
#[derive(Default)]
pub struct Strings {
    list: Vec<Bytes>,
    held: OnceLock<Held>,
}

impl From<Vec<Bytes>> for Strings {
    fn from(list: Vec<Bytes>) -> Strings {
        Strings { list, held: OnceLock::new() }
    }
}

impl Deref for Strings {
    type Target = Vec<Bytes>;

    fn deref(&self) -> &Vec<Bytes> {
        &self.list
    }
}

impl Strings {
    /// Charges them to a holder, unless they are charged already. Shared strings stay charged to their owner.
    pub fn charge_to(&self, holder: &Holder) -> Result<()> {
        if self.held.get().is_some() {
            return Ok(());
        }
        let own = self.list.iter().filter(|s| s.is_unique()).map(Bytes::len).sum::<usize>();
        let held = holder.charge(own.saturating_add(self.list.capacity() * size_of::<Bytes>()))?;
        // Of two concurrent charges one is dropped.
        let _ = self.held.set(held);
        Ok(())
    }

    /// Unshares `len` strings from `start`. They are charged again after they are written.
    pub fn unshare<'a>(this: &'a mut Arc<Strings>, start: &mut usize, len: usize) -> Result<&'a mut [Bytes]> {
        if Arc::get_mut(this).is_none() {
            *this = Arc::new(reserve::copied(&this[*start..*start + len])?.into());
            *start = 0;
        }
        let ours = Arc::get_mut(this).ok_or_else(|| internal("strings became shared"))?;
        ours.held.take();
        Ok(&mut ours.list[*start..*start + len])
    }
}
