//! The memory of the process: how much there may be, how much is held, and by whom.
//!
//! `limits` asks the system once; `count` knows the live heap at any time, from the allocator (`allocator`) or, in programs without it,
//! from buffers alone; `holder` says who holds it: a session, which gets as much as leaves room for others. `promise` keeps room for
//! libraries that cannot be refused. `give_back` returns to the system what nobody holds any more.

mod allocator;
mod count;
mod give_back;
mod holder;
mod limits;
mod promise;

pub use allocator::Counting;
pub(crate) use count::note_buffer;
pub use count::{Limits, Meter, Untouched, limits, live, set_limits};
pub use give_back::{end_thread, give_back};
pub use holder::{Held, Holder, check, current};
pub(crate) use holder::{put, take};
pub use limits::{Source, System, total};
pub use promise::{Promise, promise};

/// Reads the limits of the system, or takes the one given, and holds the process to them. Once, at the start of a program that has
/// [`Counting`] as its allocator.
pub fn start(asked: Option<usize>) -> Option<(Limits, Source)> {
    give_back::tune_malloc();
    allocator::arm_reserve();
    count::find_out_who_counts();
    let (bytes, source) = match asked {
        Some(bytes) => (bytes, Source::Asked),
        None => total(&System::default())?,
    };
    let limits = Limits::within(bytes);
    set_limits(limits);
    // No number that a client sends may ask for more than half of it at once.
    crate::buffer::set_limit(crate::buffer::limit().min(bytes / 2));
    Some((limits, source))
}
