//! Deduplicates requests: a retry must not run a second step.

use std::collections::{HashSet, VecDeque};
use std::sync::Mutex;
use thalweg_core::error::{Result, aborted};
use thalweg_core::sync::lock;

/// Ids of the last requests, as many as TensorFlow's master keeps.
#[derive(Default)]
pub struct RecentRequests(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    numbers: HashSet<i64>,
    order: VecDeque<i64>,
}

const REMEMBERED: usize = 10_000;

impl RecentRequests {
    /// Records a request id; an error if it is a duplicate. 0 means no id.
    pub fn note(&self, number: i64, call: &str) -> Result<()> {
        if number == 0 {
            return Ok(());
        }
        let mut seen = lock(&self.0);
        if !seen.numbers.insert(number) {
            return Err(aborted(format_args!(
                "The same {call} request was received twice (request_id: {number})."
            )));
        }
        seen.order.push_back(number);
        if seen.order.len() > REMEMBERED
            && let Some(oldest) = seen.order.pop_front()
        {
            seen.numbers.remove(&oldest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::error::Code;

    #[test]
    fn a_number_is_taken_once_until_it_is_forgotten() {
        let recent = RecentRequests::default();
        for number in 1..=REMEMBERED as i64 {
            recent.note(number, "RunStep").unwrap();
        }
        assert_eq!(recent.note(1, "RunStep").unwrap_err().code(), Code::Aborted);
        recent.note(-1, "RunStep").unwrap();
        recent.note(1, "RunStep").unwrap();
        assert_eq!(lock(&recent.0).numbers.len(), REMEMBERED);
        assert!((0..3).all(|_| recent.note(0, "RunStep").is_ok()));
    }
}
