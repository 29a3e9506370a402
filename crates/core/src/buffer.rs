//! `Buffer`: 64-byte aligned, reference-counted bytes, the memory behind tensors.
//!
//! The count sits in a header before the data, so that a buffer is one allocation and one pointer. Fresh memory is
//! zeroed, and freed blocks of common sizes are cached and reused *uncleared*: the bytes of a new
//! buffer are always initialised, but arbitrary. This is the only module of the crate that allocates by hand.

use crate::error::{Result, resource_exhausted};
use crate::memory;
use crate::sync::lock;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};

/// Alignment of the data: a cache line, and a full AVX-512 register.
pub const ALIGN: usize = 64;

/// Largest single buffer. Sizes from graphs and files must not allocate more.
static LIMIT: AtomicUsize = AtomicUsize::new(16 << 30);

/// Sets the size limit of a buffer (a host sets it once, from its memory).
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

pub fn limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

struct Header {
    refs: AtomicUsize,
    /// Bytes requested.
    len: usize,
    /// Bytes allocated for data.
    capacity: usize,
    /// The `memory::Holder` to which it is charged.
    holder: AtomicU32,
    /// Start of the allocation; the header lies at the first aligned address in it.
    base: *mut u8,
}

const HEADER: usize = ALIGN;
const _: () = assert!(std::mem::size_of::<Header>() <= HEADER);

pub struct Buffer(NonNull<Header>);

// SAFETY: the header is only changed through the atomic count; data is written only through `bytes_mut`, which needs the sole reference.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// A buffer whose bytes are initialised but arbitrary: the caller writes all of them.
    pub fn new(len: usize) -> Result<Buffer> {
        if len > limit() {
            return Err(resource_exhausted(format_args!(
                "a tensor of {len} bytes is over the limit of {} bytes",
                limit()
            )));
        }
        let capacity = size_class(len);
        let holder = memory::current();
        memory::take(holder, capacity)?;
        if let Some(block) = take_cached(capacity) {
            // SAFETY: a cached block has a valid header that nobody else refers to.
            unsafe {
                let header = block.as_ptr();
                (*header).refs = AtomicUsize::new(1);
                (*header).len = len;
                (*header).holder = AtomicU32::new(holder);
            }
            return Ok(Buffer(block));
        }
        Buffer::allocate(len, capacity, holder).inspect_err(|_| memory::put(holder, capacity))
    }

    /// Charges a buffer without a holder (a request's payload) to this holder.
    pub fn charge_to(&self, holder: &memory::Holder) -> Result<()> {
        let (header, number) = (self.header(), holder.number());
        if number == 0 || header.holder.load(Ordering::Relaxed) != 0 {
            return Ok(());
        }
        memory::take(number, header.capacity)?;
        let before = header.holder.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
        if before.is_err() {
            memory::put(number, header.capacity);
        }
        Ok(())
    }

    pub fn zeroed(len: usize) -> Result<Buffer> {
        let mut b = Buffer::new(len)?;
        if let Some(bytes) = b.bytes_mut() {
            bytes.fill(0);
        }
        Ok(b)
    }

    fn allocate(len: usize, capacity: usize, holder: u32) -> Result<Buffer> {
        let layout = block_layout(capacity)
            .ok_or_else(|| resource_exhausted(format_args!("a tensor of {len} bytes")))?;
        // SAFETY: the layout is not empty. Plain 16-byte alignment lets the allocator use untouched zero pages for large blocks.
        let base = unsafe { alloc_zeroed(layout) };
        if base.is_null() {
            return Err(resource_exhausted(format_args!("out of memory: no {len} bytes for a tensor")));
        }
        memory::note_buffer(layout.size() as isize);
        let shift = base.align_offset(ALIGN);
        // SAFETY: the layout has ALIGN spare bytes, so header and data lie within the block.
        unsafe {
            let header = base.add(shift).cast::<Header>();
            prefer_huge_pages(base, capacity + HEADER + ALIGN);
            header.write(Header {
                refs: AtomicUsize::new(1),
                len,
                capacity,
                holder: AtomicU32::new(holder),
                base,
            });
            Ok(Buffer(NonNull::new_unchecked(header)))
        }
    }

    fn header(&self) -> &Header {
        // SAFETY: the header lives as long as any reference.
        unsafe { self.0.as_ref() }
    }

    fn data(&self) -> *mut u8 {
        // SAFETY: the data follows the header in the same allocation.
        unsafe { self.0.as_ptr().cast::<u8>().add(HEADER) }
    }

    pub fn len(&self) -> usize {
        self.header().len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `len` initialised bytes, shared and not written while any `&self` lives (see `bytes_mut`).
        unsafe { std::slice::from_raw_parts(self.data(), self.len()) }
    }

    /// Whether this is the only reference.
    pub fn is_unique(&self) -> bool {
        self.header().refs.load(Ordering::Acquire) == 1
    }

    /// The bytes for writing, if this is the only reference.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        if !self.is_unique() {
            return None;
        }
        // SAFETY: the sole reference, borrowed mutably.
        Some(unsafe { std::slice::from_raw_parts_mut(self.data(), self.len()) })
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        self.header().refs.fetch_add(1, Ordering::Relaxed);
        Buffer(self.0)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // The sole owner needs no locked instruction: nobody else can be cloning it.
        if self.header().refs.load(Ordering::Acquire) != 1
            && self.header().refs.fetch_sub(1, Ordering::Release) != 1
        {
            return;
        }
        fence(Ordering::Acquire);
        let block = self.0;
        let capacity = self.header().capacity;
        memory::put(self.header().holder.load(Ordering::Relaxed), capacity);
        if !cache(capacity, block) {
            // SAFETY: the last reference is gone.
            unsafe { free(block) };
        }
    }
}

fn block_layout(capacity: usize) -> Option<Layout> {
    Layout::from_size_align(capacity.checked_add(HEADER + ALIGN)?, 16).ok()
}

/// # Safety
/// There are no references to the block.
unsafe fn free(block: NonNull<Header>) {
    // SAFETY: by contract; base and capacity are those of the allocation.
    unsafe {
        let (base, capacity) = ((*block.as_ptr()).base, (*block.as_ptr()).capacity);
        if let Some(layout) = block_layout(capacity) {
            dealloc(base, layout);
            memory::note_buffer(-(layout.size() as isize));
        }
    }
}

/// Blocks from this size on are mapped separately, and request huge pages.
const HUGE: usize = 4 << 20;
const HUGE_PAGE: usize = 2 << 20;

/// Requests huge pages for the aligned part of a fresh block: matrices whose rows are pages apart are read several
/// percent faster (a product of 2048x2048 by a tenth), and page faults cost a fraction. Only a hint to the kernel.
///
/// # Safety
/// The block is of `len` bytes, and nobody else uses it yet.
#[cfg(target_os = "linux")]
unsafe fn prefer_huge_pages(base: *mut u8, len: usize) {
    if len < HUGE {
        return;
    }
    let skip = base.align_offset(HUGE_PAGE);
    let inner = len.saturating_sub(skip) / HUGE_PAGE * HUGE_PAGE;
    if inner > 0 {
        // SAFETY: whole pages inside the block; the call changes how they are backed, not what they hold.
        unsafe { libc::madvise(base.add(skip).cast(), inner, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
unsafe fn prefer_huge_pages(_: *mut u8, _: usize) {}

/// Rounds a size up so that freed blocks fit later requests: to 64 bytes below 256, then to quarter steps between powers of two.
pub(crate) fn size_class(len: usize) -> usize {
    if len <= 256 {
        return len.max(1).next_multiple_of(64);
    }
    let step = (len.next_power_of_two() >> 3).max(64);
    len.checked_next_multiple_of(step).unwrap_or(len)
}

/// A cache of freed blocks, by size: each thread has one for small blocks; large blocks, which are often freed on another thread than
/// allocated, have a shared one. A large block from the system costs clearing its pages. A full cache frees blocks of the size that was
/// not asked for longest: a program whose sizes change would else fill it once and for all with sizes that it no longer uses.
struct Cache {
    classes: Vec<Class>,
    bytes: usize,
    limit: usize,
    /// Blocks taken and put.
    uses: u64,
    /// The value of `RELEASES` when it was last cleared.
    released: u32,
}

/// The cached blocks of one size.
struct Class {
    capacity: usize,
    /// The cache's `uses` when it was last used.
    used: u64,
    blocks: Vec<NonNull<Header>>,
}

// SAFETY: cached blocks are owned by the cache; nobody else refers to them.
unsafe impl Send for Cache {}

/// Blocks from here on: shared cache.
const LARGE: usize = 64 << 10;
const SMALL_BYTES: usize = 8 << 20;
const LARGE_BYTES: usize = 128 << 20;
const CACHE_CLASSES: usize = 64;
const CACHED_PART: usize = 32;

thread_local! {
    static SMALL: RefCell<Cache> =
        const { RefCell::new(Cache::new(SMALL_BYTES)) };
}

static SHARED: Mutex<Cache> = Mutex::new(Cache::new(LARGE_BYTES));

/// How often the caches were released. Each thread clears its own when it next frees a block.
static RELEASES: AtomicU32 = AtomicU32::new(0);

/// Frees the cached blocks when memory is short. Never blocks: the allocator calls it too.
pub(crate) fn release_cached() {
    RELEASES.fetch_add(1, Ordering::Relaxed);
    if let Ok(mut shared) = SHARED.try_lock() {
        shared.clear();
    }
    let _ = SMALL.try_with(|c| c.try_borrow_mut().map(|mut c| c.clear()));
    memory::kept::release();
}

fn take_cached(capacity: usize) -> Option<NonNull<Header>> {
    match capacity < LARGE {
        true => SMALL.try_with(|c| c.borrow_mut().take(capacity)).ok().flatten(),
        false => lock(&SHARED).take(capacity),
    }
}

/// Whether the block was cached.
fn cache(capacity: usize, block: NonNull<Header>) -> bool {
    match capacity < LARGE {
        true => SMALL.try_with(|c| c.borrow_mut().put(capacity, block)).unwrap_or(false),
        false => lock(&SHARED).put(capacity, block),
    }
}

impl Cache {
    const fn new(limit: usize) -> Cache {
        Cache { classes: Vec::new(), bytes: 0, limit, uses: 0, released: 0 }
    }

    fn clear(&mut self) {
        self.bytes = 0;
        for block in self.classes.drain(..).flat_map(|c| c.blocks) {
            // SAFETY: cached blocks have no references.
            unsafe { free(block) };
        }
    }

    /// The class of this size, marked as used.
    fn class(&mut self, capacity: usize) -> Option<&mut Class> {
        self.uses += 1;
        let class = self.classes.iter_mut().find(|c| c.capacity == capacity)?;
        class.used = self.uses;
        Some(class)
    }

    fn take(&mut self, capacity: usize) -> Option<NonNull<Header>> {
        let block = self.class(capacity)?.blocks.pop()?;
        self.bytes -= capacity;
        Some(block)
    }

    fn put(&mut self, capacity: usize, block: NonNull<Header>) -> bool {
        let releases = RELEASES.load(Ordering::Relaxed);
        if self.released != releases {
            self.released = releases;
            self.clear();
            return false;
        }
        self.keep(capacity, block)
    }

    fn keep(&mut self, capacity: usize, block: NonNull<Header>) -> bool {
        // At most a fraction of the memory limit.
        let limit = self.limit.min(memory::limits().limit / CACHED_PART);
        if capacity > limit {
            return false;
        }
        while self.bytes + capacity > limit {
            if !self.evict(capacity) {
                return false;
            }
        }
        match self.class(capacity) {
            Some(class) => class.blocks.push(block),
            None => {
                self.forget_one();
                self.classes.push(Class { capacity, used: self.uses, blocks: vec![block] });
            }
        }
        self.bytes += capacity;
        true
    }

    /// Frees a block of the least recently used other size; whether there was one.
    fn evict(&mut self, but: usize) -> bool {
        let others = self.classes.iter_mut().filter(|c| c.capacity != but && !c.blocks.is_empty());
        let Some(oldest) = others.min_by_key(|c| c.used) else { return false };
        let Some(block) = oldest.blocks.pop() else { return false };
        self.bytes -= oldest.capacity;
        // SAFETY: cached blocks have no references.
        unsafe { free(block) };
        true
    }

    /// Makes room for another size, if there are many.
    fn forget_one(&mut self) {
        if self.classes.len() < CACHE_CLASSES {
            return;
        }
        if let Some(i) = (0..self.classes.len()).min_by_key(|i| self.classes[*i].used) {
            let oldest = self.classes.swap_remove(i);
            self.bytes -= oldest.capacity * oldest.blocks.len();
            // SAFETY: cached blocks have no references.
            oldest.blocks.into_iter().for_each(|block| unsafe { free(block) });
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_counted_and_reused() {
        for len in [0, 1, 63, 64, 65, 1000, 70_000, 3 << 20] {
            let mut b = Buffer::new(len).unwrap();
            assert_eq!(b.bytes().as_ptr() as usize % ALIGN, 0);
            b.bytes_mut().unwrap().fill(7);
            let c = b.clone();
            assert!(b.bytes_mut().is_none());
            drop(b);
            assert!(c.bytes().iter().all(|x| *x == 7) && c.len() == len && c.is_unique());
        }
        assert!(Buffer::zeroed(1000).unwrap().bytes().iter().all(|x| *x == 0));
    }

    #[test]
    fn a_request_over_the_limit_is_refused_before_allocating() {
        assert_eq!(Buffer::new(usize::MAX).err().unwrap().code(), crate::error::Code::ResourceExhausted);
    }

    /// A cache that was full of sizes no longer used had no room for those in use: each step of a large op cleared fresh pages.
    #[test]
    fn a_full_cache_makes_room_for_the_sizes_in_use() {
        let block = |capacity| {
            let buffer = std::mem::ManuallyDrop::new(Buffer::allocate(capacity, capacity, 0).unwrap());
            buffer.0
        };
        let mut cache = Cache::new(10_000);
        for capacity in [4000, 5000] {
            assert!(cache.keep(capacity, block(capacity)));
        }
        assert!(cache.take(4000).is_some_and(|b| cache.keep(4000, b)));
        // 5000 was used longest ago.
        assert!(cache.keep(3000, block(3000)) && cache.bytes == 7000);
        assert!(cache.take(5000).is_none());
        let too_large = block(20_000);
        assert!(!cache.keep(20_000, too_large));
        // SAFETY: the cache did not take it.
        unsafe { free(too_large) };
        for capacity in 1..=2 * CACHE_CLASSES {
            assert!(cache.keep(capacity, block(capacity)));
        }
        assert!(cache.classes.len() == CACHE_CLASSES && cache.take(2 * CACHE_CLASSES).is_some());
        let held: usize = cache.classes.iter().map(|c| c.capacity * c.blocks.len()).sum();
        assert_eq!(cache.bytes, held);
    }

    #[test]
    fn references_may_cross_threads() {
        let b = Buffer::zeroed(4096).unwrap();
        std::thread::scope(|s| {
            for _ in 0..4 {
                let b = b.clone();
                s.spawn(move || (0..1000).map(|_| b.clone().bytes()[5] as usize).sum::<usize>());
            }
        });
        assert!(b.is_unique());
    }
}
