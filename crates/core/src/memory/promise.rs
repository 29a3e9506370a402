//! Memory for libraries that abort when allocation fails: reserved before the call.

use super::{count, holder};
use crate::error::Result;
use crate::reserve::no_memory;
use std::marker::PhantomData;

/// Memory reserved for this thread until dropped.
pub struct Promise {
    bytes: usize,
    not_send: PhantomData<*const ()>,
}

/// From this size on the system is probed too; less is always available, or from the reserve.
const LARGE: usize = 64 << 10;

/// Reserves so many bytes for this thread, if they are within the budget.
pub fn promise(bytes: usize) -> Result<Promise> {
    // The sums must not overflow.
    if bytes > isize::MAX as usize {
        return Err(no_memory(bytes));
    }
    holder::check(bytes)?;
    if bytes >= LARGE {
        // The limit may be higher than the system's, or unset.
        Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| no_memory(bytes))?;
    }
    let promise = Promise { bytes, not_send: PhantomData };
    count::promise(bytes);
    // Two threads may have checked concurrently: both must fit.
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
