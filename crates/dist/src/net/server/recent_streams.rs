//! Recently closed streams: frames that were in flight are distinguished from protocol errors.

use std::collections::VecDeque;

/// Capacity.
const REMEMBERED: usize = 256;

#[derive(Default)]
pub struct RecentStreams(VecDeque<u32>);

impl RecentStreams {
    pub fn note(&mut self, stream: u32) {
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(stream);
    }

    pub fn has(&self, stream: u32) -> bool {
        self.0.contains(&stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_remembered() {
        let mut recent = RecentStreams::default();
        for stream in 0..REMEMBERED as u32 + 2 {
            recent.note(stream);
        }
        assert!(!recent.has(1) && recent.has(2) && recent.has(REMEMBERED as u32 + 1));
        assert_eq!(recent.0.len(), REMEMBERED);
    }
}
