//! Who holds memory. Each session is a `Holder`; buffers made in its steps are on its count until they are freed, wherever that is.
//!
//! Counts lie in a table, and a buffer has the number of its holder: a buffer may outlive the session (a variable of the server), and a
//! reference count for each buffer would cost more than the count itself. A place is given out again when nothing is held there.

use super::{allocator, count};
use crate::budget;
use crate::error::{Error, Result, resource_exhausted};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

/// Holders that are told apart. Those beyond are nobody, number 0, whom only the limit of the process holds back.
const HOLDERS: usize = 8192;

/// A cache line of its own: sessions on different threads do not wait for one another.
#[repr(align(64))]
struct Place {
    held: AtomicIsize,
    is_taken: AtomicBool,
}

static PLACES: [Place; HOLDERS] =
    [const { Place { held: AtomicIsize::new(0), is_taken: AtomicBool::new(false) } }; HOLDERS];
static NEXT: AtomicUsize = AtomicUsize::new(1);

thread_local! {
    static CURRENT: Cell<u32> = const { Cell::new(0) };
}

/// The part of the limit that a holder may have even when there is no room: small steps go on while a large one is refused.
const SMALL_PART: usize = 256;

/// One who holds memory.
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
            let place = place(*at as u32);
            place.held.load(Ordering::Relaxed) == 0 && !place.is_taken.swap(true, Ordering::AcqRel)
        };
        let found = (0..HOLDERS - 1).map(|i| 1 + (start.wrapping_add(i)) % (HOLDERS - 1)).find(free);
        Holder(found.unwrap_or(0) as u32)
    }

    /// For work whose memory is on the count of whoever has it done, if anyone's.
    pub fn nobody() -> Holder {
        Holder(0)
    }

    /// Bytes that it holds.
    pub fn held(&self) -> usize {
        held(self.0)
    }

    /// Buffers that this thread makes are on this holder's count, as long as the answer lives.
    #[inline]
    pub fn enter(&self) -> Entered {
        Entered { before: CURRENT.replace(self.0), not_send: PhantomData }
    }

    /// Takes so many bytes for what is not a buffer.
    pub fn charge(&self, bytes: usize) -> Result<Held> {
        take(self.0, bytes)?;
        Ok(Held { holder: self.0, bytes })
    }

    /// Counts bytes that are taken already, whether there is room for them or not.
    pub fn hold(&self, bytes: usize) -> Held {
        let mut held = Held { holder: self.0, bytes: 0 };
        held.grow(bytes);
        held
    }

    /// An error if it holds more than there is room for.
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
            place(self.0).is_taken.store(false, Ordering::Release);
            super::give_back();
        }
    }
}

/// See [`Holder::enter`]. Belongs to the thread.
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

/// The holder whose work this thread does; 0: nobody's.
#[inline]
pub fn current() -> u32 {
    CURRENT.try_with(Cell::get).unwrap_or(0)
}

/// Bytes on a holder's count, taken back when dropped.
#[derive(Debug, Default)]
pub struct Held {
    holder: u32,
    bytes: usize,
}

impl Held {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts more bytes, which are taken already.
    pub fn grow(&mut self, bytes: usize) {
        if self.holder != 0 {
            place(self.holder).held.fetch_add(bytes as isize, Ordering::Relaxed);
        }
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        put(self.holder, self.bytes);
    }
}

/// An error if whom this thread works for may not have so many bytes more: before work that takes memory which is not in buffers.
pub fn check(bytes: usize) -> Result<()> {
    check_of(current(), bytes)
}

/// The same for bytes that are promised already, beside all that is promised to others.
pub(super) fn check_promised(bytes: usize) -> Result<()> {
    let own = held(current()).saturating_add(bytes);
    if fits(own, 0) || fits_without_kept(own, 0) { Ok(()) } else { Err(refusal(current(), bytes, own)) }
}

fn check_of(holder: u32, bytes: usize) -> Result<()> {
    let own = held(holder).saturating_add(bytes);
    if fits(own, bytes) || fits_without_kept(own, bytes) {
        return Ok(());
    }
    Err(refusal(holder, bytes, own.saturating_sub(bytes)))
}

/// Puts bytes on a holder's count, if there is room for them.
#[inline]
pub(crate) fn take(holder: u32, bytes: usize) -> Result<()> {
    let own = match holder {
        0 => bytes,
        h => place(h).held.fetch_add(bytes as isize, Ordering::Relaxed).max(0) as usize + bytes,
    };
    if fits(own, bytes) || fits_without_kept(own, bytes) {
        return Ok(());
    }
    put(holder, bytes);
    Err(refusal(holder, bytes, own - bytes))
}

#[inline]
pub(crate) fn put(holder: u32, bytes: usize) {
    if holder != 0 {
        place(holder).held.fetch_sub(bytes as isize, Ordering::Relaxed);
    }
}

#[inline]
fn place(holder: u32) -> &'static Place {
    &PLACES[holder as usize % HOLDERS]
}

fn held(holder: u32) -> usize {
    if holder == 0 { 0 } else { place(holder).held.load(Ordering::Relaxed).max(0) as usize }
}

/// Whether one may hold `own` bytes in all, of which `more` are still to be taken.
#[inline]
fn fits(own: usize, more: usize) -> bool {
    let taken = count::live().saturating_add(count::promised());
    let (live, limits) = (taken.saturating_add(more), count::limits());
    let free = if allocator::is_tight() { 0 } else { limits.limit.saturating_sub(live) };
    budget::is_within_share(own, free) || (own <= limits.limit / SMALL_PART && live <= limits.ceiling)
}

#[cold]
fn fits_without_kept(own: usize, more: usize) -> bool {
    crate::buffer::release_kept();
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
