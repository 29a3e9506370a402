//! Memory for libraries that allocate as std does, where a refusal is the end of the process: what they may take is asked for before.

use super::{count, holder};
use crate::error::Result;
use crate::reserve::no_memory;
use std::marker::PhantomData;

/// Memory that nobody else gets until this is dropped. It belongs to the thread.
pub struct Promise {
    bytes: usize,
    not_send: PhantomData<*const ()>,
}

/// Less is not asked of the system: it always has that much, or the reserve.
const LARGE: usize = 64 << 10;

/// Keeps so many bytes for what this thread does next, if there is room for them.
pub fn promise(bytes: usize) -> Result<Promise> {
    // So much there can never be, and sums must stay far from overflow.
    if bytes > isize::MAX as usize {
        return Err(no_memory(bytes));
    }
    holder::check(bytes)?;
    if bytes >= LARGE {
        // The limit need not be that of the system, or there may be none.
        Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| no_memory(bytes))?;
    }
    let promise = Promise { bytes, not_send: PhantomData };
    count::promise(bytes);
    // Another may have asked at the same time: then there must be room for both.
    holder::check_promised(bytes).map(|()| promise)
}

impl Drop for Promise {
    fn drop(&mut self) {
        count::end_promise(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn what_no_memory_holds_is_not_promised() {
        for bytes in [usize::MAX, isize::MAX as usize] {
            assert_eq!(promise(bytes).map(drop).unwrap_err().code(), Code::ResourceExhausted);
        }
    }

    #[test]
    fn what_is_promised_is_kept_until_the_promise_ends() {
        let before = count::promised();
        let (a, b) = (promise(1000).unwrap(), promise(500).unwrap());
        assert!(count::promised() >= before + 1500);
        drop((a, b));
    }
}
