//! Memory accounting. Each session is a `Holder`; buffers allocated in its steps are charged to it until they are freed.
//!
//! The counts are in a static table, and a buffer has the index of its holder: a buffer may outlive the session (a variable of the server),
//! and an `Arc` in each buffer would cost more than the count itself. A slot is reused when its count is 0.

use super::{allocator, count};
use crate::budget;
use crate::error::{Error, Result, resource_exhausted};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

/// Slots of the table. Holders beyond it share slot 0, which only the process limit bounds.
const HOLDERS: usize = 8192;

/// A cache line of its own, against false sharing between sessions.
#[repr(align(64))]
struct Slot {
    held: AtomicIsize,
    is_taken: AtomicBool,
}

static SLOTS: [Slot; HOLDERS] =
    [const { Slot { held: AtomicIsize::new(0), is_taken: AtomicBool::new(false) } }; HOLDERS];
static NEXT: AtomicUsize = AtomicUsize::new(1);

thread_local! {
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

/// The part of the limit that a holder may use even if the budget is exhausted: small steps proceed while a large one fails.
const SMALL_PART: usize = 256;

/// A session, or another account of memory.
#[derive(Debug)]
pub struct Holder(u32);

impl Default for Holder {
    fn default() -> Holder {
        Holder::new()
    }
}

impl Holder {
    pub fn new() -> Holder {
        let start = NEXT.fetch_add(1, Ordering::Relaxed);
        let free = |at: &usize| {
            let slot = slot(*at as u32);
            slot.held.load(Ordering::Relaxed) == 0 && !slot.is_taken.swap(true, Ordering::AcqRel)
        };
        let found = (0..HOLDERS - 1).map(|i| 1 + (start.wrapping_add(i)) % (HOLDERS - 1)).find(free);
        Holder(found.unwrap_or(0) as u32)
    }

    /// Slot 0: no budget.
    pub fn nobody() -> Holder {
        Holder(0)
    }

    /// Bytes that it holds.
    pub fn held(&self) -> usize {
        held(self.0)
    }

    /// Charges the buffers that this thread allocates to this holder, until the guard is dropped.
    #[inline]
    pub fn enter(&self) -> Entered {
        Entered { before: CURRENT.replace(self.0), not_send: PhantomData }
    }

    /// Charges so many bytes that are not in buffers; an error if they exceed the budget.
    pub fn charge(&self, bytes: usize) -> Result<Held> {
        take(self.0, bytes)?;
        Ok(Held { holder: self.0, bytes })
    }

    /// Charges bytes that are allocated already, even over the budget.
    pub fn hold(&self, bytes: usize) -> Held {
        let mut held = Held { holder: self.0, bytes: 0 };
        held.grow(bytes);
        held
    }

    /// An error if it is over its budget.
    #[inline]
    pub fn check(&self) -> Result<()> {
        check_of(self.0, 0)
    }

    pub(crate) fn number(&self) -> u32 {
        self.0
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        if self.0 != 0 {
            slot(self.0).is_taken.store(false, Ordering::Release);
            super::trim();
        }
    }
}

/// The guard of [`Holder::enter`].
pub struct Entered {
    before: u32,
    not_send: PhantomData<*const ()>,
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// The holder that this thread has entered; 0: nobody.
#[inline]
pub fn current() -> u32 {
    CURRENT.try_with(Cell::get).unwrap_or(0)
}

/// Bytes charged to a holder, until dropped.
#[derive(Debug, Default)]
pub struct Held {
    holder: u32,
    bytes: usize,
}

impl Held {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Charges more bytes, which are allocated already.
    pub fn grow(&mut self, bytes: usize) {
        if self.holder != 0 {
            slot(self.holder).held.fetch_add(bytes as isize, Ordering::Relaxed);
        }
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        put(self.holder, self.bytes);
    }
}

/// An error if so many more bytes exceed the budget of this thread's holder: for allocations that are not buffers.
pub fn check(bytes: usize) -> Result<()> {
    check_of(current(), bytes)
}

/// The same for bytes already promised, together with the promises of others.
pub(super) fn check_promised(bytes: usize) -> Result<()> {
    let own = held(current()).saturating_add(bytes);
    if fits(own, 0) || fits_without_cache(own, 0) { Ok(()) } else { Err(refusal(current(), bytes, own)) }
}

/// The same for bytes of no session that are counted already.
pub(super) fn check_counted(own: usize) -> Result<()> {
    if fits(own, 0) || fits_without_cache(own, 0) { Ok(()) } else { Err(refusal(0, own, own)) }
}

fn check_of(holder: u32, bytes: usize) -> Result<()> {
    let own = held(holder).saturating_add(bytes);
    if fits(own, bytes) || fits_without_cache(own, bytes) {
        return Ok(());
    }
    Err(refusal(holder, bytes, own.saturating_sub(bytes)))
}

/// Charges bytes to a holder, if they are within its budget.
#[inline]
pub(crate) fn take(holder: u32, bytes: usize) -> Result<()> {
    let own = match holder {
        0 => bytes,
        h => slot(h).held.fetch_add(bytes as isize, Ordering::Relaxed).max(0) as usize + bytes,
    };
    if fits(own, bytes) || fits_without_cache(own, bytes) {
        return Ok(());
    }
    put(holder, bytes);
    Err(refusal(holder, bytes, own - bytes))
}

#[inline]
pub(crate) fn put(holder: u32, bytes: usize) {
    if holder != 0 {
        slot(holder).held.fetch_sub(bytes as isize, Ordering::Relaxed);
    }
}

#[inline]
fn slot(holder: u32) -> &'static Slot {
    &SLOTS[holder as usize % HOLDERS]
}

fn held(holder: u32) -> usize {
    if holder == 0 { 0 } else { slot(holder).held.load(Ordering::Relaxed).max(0) as usize }
}

/// Whether a holder may have `own` bytes, of which `more` are not allocated yet.
#[inline]
fn fits(own: usize, more: usize) -> bool {
    let taken = count::live().saturating_add(count::promised());
    let (live, limits) = (taken.saturating_add(more), count::limits());
    let free = if allocator::is_tight() { 0 } else { limits.limit.saturating_sub(live) };
    budget::is_within_share(own, free) || (own <= limits.limit / SMALL_PART && live <= limits.ceiling)
}

#[cold]
fn fits_without_cache(own: usize, more: usize) -> bool {
    crate::buffer::release_cached();
    if count::live() < count::limits().limit {
        allocator::arm_reserve();
    }
    fits(own, more)
}

#[cold]
fn refusal(holder: u32, bytes: usize, own: usize) -> Error {
    let (live, limit) = (count::live(), count::limits().limit);
    let who = match holder {
        0 => String::new(),
        _ => format!("the session holds {own}, "),
    };
    let what = match bytes {
        0 => "what is held is".to_string(),
        _ => format!("{bytes} bytes more are"),
    };
    resource_exhausted(format_args!(
        "out of memory: {what} over what there is room for: {who}the process {live} of {limit}"
    ))
    .hint("use smaller tensors or batches, close sessions, or give the process more memory")
}
