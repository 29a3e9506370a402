//! Huffman tables that fit what they code.

use super::huffman::Table;
use thalweg_core::error::Result;

/// The table for symbols of these frequencies, with codes of at most 16 bits, none of them all ones.
pub fn table(counts: &[u64; 256]) -> Result<Table> {
    // The last is a place for the code of all ones.
    let mut counts: [u64; 257] = std::array::from_fn(|i| if i < 256 { counts[i] } else { 1 });
    let (mut sizes, mut chain) = ([0usize; 257], [None; 257]);
    loop {
        let least = |counts: &[u64; 257], but: Option<usize>| {
            let some = (0..257).filter(|i| counts[*i] > 0 && Some(*i) != but);
            // Of equals, the last.
            some.min_by_key(|i| (counts[*i], 257 - *i))
        };
        let Some(first) = least(&counts, None) else { break };
        let Some(second) = least(&counts, Some(first)) else { break };
        counts[first] += counts[second];
        counts[second] = 0;
        // Both trees are one level deeper now.
        let mut at = first;
        sizes[at] += 1;
        while let Some(next) = chain[at] {
            at = next;
            sizes[at] += 1;
        }
        chain[at] = Some(second);
        let mut at = Some(second);
        while let Some(i) = at {
            sizes[i] += 1;
            at = chain[i];
        }
    }
    let mut lengths = [0i32; 258];
    for size in sizes.iter().filter(|s| **s > 0) {
        lengths[*size] += 1;
    }
    shorten(&mut lengths);
    let mut symbols = [0; 256];
    let mut ordered: [usize; 256] = std::array::from_fn(|i| i);
    ordered.sort_unstable_by_key(|i| (sizes[*i], *i));
    let used = ordered.iter().filter(|i| sizes[**i] > 0);
    symbols.iter_mut().zip(used).for_each(|(to, i)| *to = *i as u8);
    Table::new(std::array::from_fn(|i| lengths[i + 1] as u8), &symbols)
}

/// Brings all codes to 16 bits at most, and takes out the longest, the one of all ones.
fn shorten(lengths: &mut [i32; 258]) {
    for long in (17..258).rev() {
        while lengths[long] > 0 {
            // Two of this length become one that is shorter, and a prefix of a shorter one becomes two.
            let Some(short) = (1..long - 1).rev().find(|i| lengths[*i] > 0) else { return };
            lengths[long] -= 2;
            lengths[long - 1] += 1;
            lengths[short + 1] += 2;
            lengths[short] -= 1;
        }
    }
    if let Some(longest) = (1..=16).rev().find(|i| lengths[*i] > 0) {
        lengths[longest] -= 1;
    }
}
