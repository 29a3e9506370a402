//! Who goes on with a step when a kernel that waited has its answer.
//!
//! Mostly a thread of the pool: an answer comes from anywhere, often from inside another step. But a thread that does nothing but pass
//! on answers can go on itself if the step is short, for waking another thread costs more than many a step has left to do.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static MAY_GO_ON: Cell<bool> = const { Cell::new(false) };
}

/// A thread that passes on answers is kept no longer than this by what follows from one.
pub const SHORT: Duration = Duration::from_micros(200);

/// Passes on an answer, as `pass_on` does it. The thread holds no lock and is in no step: a short step goes on here.
pub fn pass_on_answer(pass_on: impl FnOnce()) {
    let _before = Restore(MAY_GO_ON.replace(true));
    pass_on();
}

/// Goes on here, if the thread may; whether it did. Answers that are given meanwhile are passed to the pool, so that steps that
/// answer one another do not fill the stack.
pub fn go_on(step: impl FnOnce()) -> bool {
    let may = MAY_GO_ON.replace(false);
    if may {
        let _before = Restore(true);
        step();
    }
    may
}

struct Restore(bool);

impl Drop for Restore {
    fn drop(&mut self) {
        MAY_GO_ON.set(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_goes_on_where_answers_are_passed_on_and_not_inside_another() {
        assert!(!go_on(|| panic!("nothing is passed on here")));
        let mut ran = Vec::new();
        pass_on_answer(|| {
            assert!(go_on(|| {
                ran.push(1);
                assert!(!go_on(|| panic!("inside another step")));
            }));
            assert!(go_on(|| ran.push(2)));
        });
        assert_eq!(ran, [1, 2]);
        assert!(!go_on(|| panic!("it is over")));
    }
}
