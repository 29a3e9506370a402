//! A quick hash for tables of numbers. It differs from process to process, so that nobody can choose numbers that collide.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

#[derive(Clone, Copy)]
pub struct NumberHash {
    start: u64,
    /// Odd.
    factor: u64,
}

impl NumberHash {
    pub fn new() -> NumberHash {
        static SECRET: OnceLock<NumberHash> = OnceLock::new();
        *SECRET.get_or_init(|| NumberHash {
            start: RandomState::new().hash_one(1u8),
            factor: RandomState::new().hash_one(2u8) | 1,
        })
    }
}

impl BuildHasher for NumberHash {
    type Hasher = State;

    fn build_hasher(&self) -> State {
        State { hash: self.start, factor: self.factor }
    }
}

pub struct State {
    hash: u64,
    factor: u64,
}

impl Hasher for State {
    fn finish(&self) -> u64 {
        self.hash
    }

    fn write_u64(&mut self, n: u64) {
        // Both halves of the product: each bit of the number reaches the bits that tables look at.
        let product = u128::from(self.hash ^ n) * u128::from(self.factor);
        self.hash = product as u64 ^ (product >> 64) as u64;
    }

    fn write_u128(&mut self, n: u128) {
        self.write_u64(n as u64);
        if n >> 64 != 0 {
            self.write_u64((n >> 64) as u64);
        }
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            self.write_u64(chunk.iter().fold(0, |n, b| n << 8 | u64::from(*b)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// A factor may suit a pattern badly, and then half of the numbers collide; few do, and none is worse.
    #[test]
    fn numbers_in_any_pattern_spread_out() {
        let mut r = thalweg_core::case::CaseGen::new(1);
        let mut spread = Vec::new();
        for _ in 0..64 {
            let hash = NumberHash { start: r.bits(), factor: r.bits() | 1 };
            for shift in [0, 7, 16, 32, 57] {
                let seen: HashSet<u64> = (0..4096u128).map(|n| hash.hash_one(n << shift) & 0xffff).collect();
                spread.push(seen.len());
            }
        }
        spread.sort_unstable();
        assert!(spread[0] > 500 && spread[spread.len() / 20] > 3000, "{spread:?}");
        let hash = NumberHash::new();
        let _ = hash.hash_one(vec![1u128 << 100, 2]);
    }
}
