//! `Timer`: when an action that is repeated every so many steps or seconds is due.

use std::time::{Duration, Instant};

/// An interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Every {
    /// Global steps; 0 counts as 1.
    Steps(u64),
    /// Of wall-clock time.
    Seconds(f64),
}

/// When an action was last done, and whether it is due.
#[derive(Clone, Debug)]
pub struct Timer {
    every: Every,
    last: Option<(i64, Instant)>,
}

impl Timer {
    /// A timer that is due at once.
    pub fn new(every: Every) -> Timer {
        Timer { every, last: None }
    }

    /// Whether it is due at this step. The first time it always is, and after a recovery to a step before the last one.
    pub fn is_due(&self, step: i64) -> bool {
        let Some((last, at)) = self.last else { return true };
        match self.every {
            Every::Steps(n) => step < last || step - last >= i64::try_from(n.max(1)).unwrap_or(i64::MAX),
            Every::Seconds(s) => step != last && at.elapsed().as_secs_f64() >= s,
        }
    }

    /// Records that it was done at this step; returns the steps and time since the last one.
    pub fn done(&mut self, step: i64) -> Option<(i64, Duration)> {
        let before = self.last.replace((step, Instant::now()));
        before.map(|(last, at)| (step - last, at.elapsed()))
    }

    /// The step at which it was last done.
    pub fn last_step(&self) -> Option<i64> {
        self.last.map(|(step, _)| step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counted_from_the_last_time_and_going_back_is_due() {
        let mut timer = Timer::new(Every::Steps(10));
        assert!(timer.is_due(3));
        assert_eq!(timer.done(3), None);
        assert_eq!((timer.is_due(12), timer.is_due(13), timer.is_due(2)), (false, true, true));
        assert_eq!(timer.done(13).map(|d| d.0), Some(10));
    }
}
