//! `Timer`: what is done every so many steps or seconds.

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Every {
    Steps(u64),
    Seconds(f64),
}

/// When something was last done, and whether it is to be done again.
#[derive(Clone, Debug)]
pub struct Timer {
    every: Every,
    last: Option<(i64, Instant)>,
}

impl Timer {
    pub fn new(every: Every) -> Timer {
        Timer { every, last: None }
    }

    /// Whether it is time at this step; always the first time, and after a recovery went back before the last time.
    pub fn is_due(&self, step: i64) -> bool {
        let Some((last, at)) = self.last else { return true };
        match self.every {
            Every::Steps(n) => step < last || step - last >= i64::try_from(n.max(1)).unwrap_or(i64::MAX),
            Every::Seconds(s) => step != last && at.elapsed().as_secs_f64() >= s,
        }
    }

    /// It was done at this step; how many steps and how long it was since the last time.
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
