//! Memory of contents that arrive: a block is allocated for what a peer announces, and counted as it is written.

use thalweg_core::error::Code;
use thalweg_core::memory::{Counting, Limits, Untouched, live, set_limits};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MB: usize = 1 << 20;

/// Regression: blocks announced while there was room passed the ceiling when others had filled the memory meanwhile, and small requests of
/// others were refused.
#[test]
fn an_announced_content_is_refused_when_the_memory_is_full_as_it_arrives() {
    let block: Vec<u8> = Vec::with_capacity(100 * MB);
    let mut arriving = Untouched::new(block.capacity());
    let limit = live() + 8 * MB;
    set_limits(Limits { limit, ceiling: limit + 8 * MB });
    arriving.touch(4 * MB).unwrap();
    let refused = arriving.touch(6 * MB).unwrap_err();
    set_limits(Limits { limit: usize::MAX, ceiling: usize::MAX });
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused}");
    arriving.touch(50 * MB).unwrap();
}
