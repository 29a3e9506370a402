//! Fisher-Yates shuffle.

use super::{Philox, Words};

/// Shuffles in place, as `RandomShuffle` orders the rows of its input. Uses one
/// word less than there are items; reserve those with
/// [`PhiloxState::reserve_words`](super::PhiloxState::reserve_words).
pub fn shuffle<T>(stream: Philox, items: &mut [T]) {
    let mut words = Words::new(stream);
    for first in 0..items.len().saturating_sub(1) {
        let rest = (items.len() - first) as u32;
        items.swap(first, first + (words.next_word() % rest) as usize);
    }
}
