//! The memory of the process: limits, live bytes, and accounting by session.
//!
//! `limits` reads the system's limits once; `count` has the live heap bytes, from the allocator (`allocator`) or, in programs without it,
//! from buffers alone; `holder` charges them to sessions, each of which leaves room for others. `promise` reserves memory
//! for libraries that abort when allocation fails. `kept` has large blocks that are free, `trim` returns freed memory to the system.

mod allocator;
mod count;
mod holder;
pub(crate) mod kept;
mod limits;
mod promise;
mod trim;

pub use allocator::Counting;
pub(crate) use count::note_buffer;
pub use count::{Limits, Meter, Untouched, limits, live, set_limits};
pub use holder::{Held, Holder, check, current};
pub(crate) use holder::{put, take};
pub use limits::{Source, System, total};
pub use promise::{Promise, promise};
pub use trim::{end_thread, trim};

/// Sets the limit: the one given, or the system's. Called once, at the start of a program that has [`Counting`] as its allocator.
pub fn start(asked: Option<usize>) -> Option<(Limits, Source)> {
    trim::tune_malloc();
    allocator::arm_reserve();
    count::detect_counting_allocator();
    let (bytes, source) = match asked {
        Some(bytes) => (bytes, Source::Asked),
        None => total(&System::default())?,
    };
    let limits = Limits::within(bytes);
    set_limits(limits);
    // One buffer, whose size a client may choose, gets half of it at most.
    crate::buffer::set_limit(crate::buffer::limit().min(bytes / 2));
    Some((limits, source))
}
