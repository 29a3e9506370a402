//! Which thread resumes a step when an async kernel has completed.
//!
//! Usually a pool thread: completions come from anywhere, often from inside another step. But a thread that only delivers
//! completions can resume the step itself if the rest is short: waking another thread costs more than the rest of many steps.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static ALLOWED: Cell<bool> = const { Cell::new(false) };
}

/// Limit on occupying a thread that delivers completions.
pub const MAX_INLINE: Duration = Duration::from_micros(200);

/// Calls `deliver`, which completes an async kernel. The thread holds no lock and is in no step: a short step resumes on it.
pub fn allow_inline_resume(deliver: impl FnOnce()) {
    let _before = Restore(ALLOWED.replace(true));
    deliver();
}

/// Resumes a step on this thread if allowed; returns whether it did. Completions made meanwhile resume on the pool, so that
/// steps that complete one another do not overflow the stack.
pub fn resume_inline(step: impl FnOnce()) -> bool {
    let allowed = ALLOWED.replace(false);
    if allowed {
        let _before = Restore(true);
        step();
    }
    allowed
}

struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        ALLOWED.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_resumes_where_completions_are_delivered_and_not_inside_another() {
        assert!(!resume_inline(|| panic!("nothing is delivered here")));
        let mut ran = Vec::new();
        allow_inline_resume(|| {
            assert!(resume_inline(|| {
                ran.push(1);
                assert!(!resume_inline(|| panic!("inside another step")));
            }));
            assert!(resume_inline(|| ran.push(2)));
        });
        assert_eq!(ran, [1, 2]);
        assert!(!resume_inline(|| panic!("delivery is over")));
    }
}
