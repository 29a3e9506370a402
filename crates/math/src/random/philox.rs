//! Philox4x32-10, a counter-based generator (Salmon et al., 2011).
//!
//! Block `n` of the stream is a pure function of the key and `counter + n`, so
//! any part of the stream can be computed without the part before it.

use crate::simd::{Loop, widest};

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// Words in one block.
pub const BLOCK: usize = 4;

/// Blocks computed in parallel lanes, so that the rounds are vectorised.
const LANES: usize = 32;

/// Key and counter: a position in a stream of 128-bit blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Philox {
    counter: u128,
    key: [u32; 2],
}

impl Philox {
    /// The stream of an op with the attributes `seed` and `seed2`.
    pub fn new(seed: i64, seed2: i64) -> Self {
        Self::from_key_counter(seed as u64, [0, seed2 as u64])
    }

    /// The stream at an explicit key and counter, low word first.
    pub fn from_key_counter(key: u64, counter: [u64; 2]) -> Self {
        Self {
            counter: u128::from(counter[0]) | u128::from(counter[1]) << 64,
            key: [key as u32, (key >> 32) as u32],
        }
    }

    pub fn key(&self) -> u64 {
        u64::from(self.key[0]) | u64::from(self.key[1]) << 32
    }

    pub fn counter(&self) -> [u64; 2] {
        [self.counter as u64, (self.counter >> 64) as u64]
    }

    /// Advances by this many blocks.
    pub fn skip(&mut self, blocks: u64) {
        self.counter = self.counter.wrapping_add(blocks.into());
    }

    /// This stream, advanced by so many blocks.
    pub fn skipped(mut self, blocks: u64) -> Self {
        self.skip(blocks);
        self
    }

    /// The current block; advances past it.
    pub fn next_block(&mut self) -> [u32; BLOCK] {
        let [[a], [b], [c], [d]] = rounds(self.lanes::<1>(), self.key);
        self.skip(1);
        [a, b, c, d].map(|word| word as u32)
    }

    /// Fills `out`, whose length is a multiple of four, with whole blocks.
    pub fn fill(&mut self, out: &mut [u32]) {
        assert!(out.len().is_multiple_of(BLOCK));
        widest(Fill { philox: self, out });
    }

    /// Fills `out` with the blocks at these offsets from the current counter.
    pub fn fill_at(&self, ahead: &[u64], out: &mut [u32]) {
        assert_eq!(BLOCK * ahead.len(), out.len());
        widest(FillAt { philox: self, ahead, out });
    }

    /// The next `N` counters, as four arrays of words.
    #[inline(always)]
    fn lanes<const N: usize>(&self) -> [[u64; N]; BLOCK] {
        let mut lanes = [0, 32, 64, 96].map(|shift| [(self.counter >> shift) as u64; N]);
        if (self.counter as u32).checked_add(N as u32).is_some() {
            for (n, word) in lanes[0].iter_mut().enumerate() {
                *word += n as u64;
            }
            return lanes;
        }
        for n in 0..N {
            let counter = self.counter.wrapping_add(n as u128);
            for (word, shift) in lanes.iter_mut().zip([0, 32, 64, 96]) {
                word[n] = (counter >> shift) as u64;
            }
        }
        lanes
    }
}

struct Fill<'a> {
    philox: &'a mut Philox,
    out: &'a mut [u32],
}

impl Loop for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (wide, tail) = self.out.as_chunks_mut::<{ BLOCK * LANES }>();
        for chunk in wide {
            let lanes = rounds(self.philox.lanes::<LANES>(), self.philox.key);
            self.philox.skip(LANES as u64);
            for n in 0..LANES {
                for word in 0..BLOCK {
                    chunk[BLOCK * n + word] = lanes[word][n] as u32;
                }
            }
        }
        for block in tail.as_chunks_mut::<BLOCK>().0 {
            *block = self.philox.next_block();
        }
    }
}

struct FillAt<'a> {
    philox: &'a Philox,
    ahead: &'a [u64],
    out: &'a mut [u32],
}

impl Loop for FillAt<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut lanes = [[0; LANES]; BLOCK];
        for (ahead, out) in self.ahead.chunks(LANES).zip(self.out.chunks_mut(BLOCK * LANES)) {
            for (n, &ahead) in ahead.iter().enumerate() {
                let counter = self.philox.skipped(ahead).counter;
                for (lane, shift) in lanes.iter_mut().zip([0, 32, 64, 96]) {
                    lane[n] = (counter >> shift) as u64;
                }
            }
            let lanes = rounds(lanes, self.philox.key);
            for (n, block) in out.as_chunks_mut::<BLOCK>().0.iter_mut().enumerate() {
                *block = std::array::from_fn(|word| lanes[word][n] as u32);
            }
        }
    }
}

/// Each word is in the low half of a `u64`, as the vector multiplication needs;
/// the high halves are never read.
#[inline(always)]
fn rounds<const N: usize>(words: [[u64; N]; BLOCK], mut key: [u32; 2]) -> [[u64; N]; BLOCK] {
    let [mut a, mut b, mut c, mut d] = words;
    for _ in 0..ROUNDS {
        for n in 0..N {
            let x = u64::from(a[n] as u32) * u64::from(MULTIPLIERS[0]);
            let y = u64::from(c[n] as u32) * u64::from(MULTIPLIERS[1]);
            a[n] = (y >> 32) ^ b[n] ^ u64::from(key[0]);
            c[n] = (x >> 32) ^ d[n] ^ u64::from(key[1]);
            b[n] = y;
            d[n] = x;
        }
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    [a, b, c, d]
}

/// The words of a stream one at a time.
pub struct Words {
    philox: Philox,
    block: [u32; BLOCK],
    used: usize,
}

impl Words {
    pub fn new(philox: Philox) -> Self {
        Self { philox, block: [0; BLOCK], used: BLOCK }
    }

    pub fn next_word(&mut self) -> u32 {
        if self.used == BLOCK {
            self.block = self.philox.next_block();
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    /// A number in [0, 1), from one word.
    pub fn next_f32(&mut self) -> f32 {
        super::real::unit_f32(self.next_word())
    }

    /// A number in [0, 1), from two words.
    pub fn next_f64(&mut self) -> f64 {
        let (high, low) = (self.next_word(), self.next_word());
        super::real::unit_f64(high, low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers published with the algorithm.
    #[test]
    fn known_answers() {
        let ones = u64::MAX;
        let cases = [
            (0, [0, 0], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]),
            (ones, [ones, ones], [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]),
            (
                0x299f31d0_a4093822,
                [0x85a308d3_243f6a88, 0x03707344_13198a2e],
                [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
            ),
        ];
        for (key, counter, expected) in cases {
            assert_eq!(Philox::from_key_counter(key, counter).next_block(), expected);
        }
    }

    #[test]
    fn filling_equals_single_blocks_also_across_a_carry() {
        for counter in [[0, 0], [0xffff_fff5, 7], [u64::MAX - 20, u64::MAX]] {
            let start = Philox::from_key_counter(0x1234_5678_9abc_def0, counter);
            let mut words = [0; 4 * 53];
            let mut filler = start;
            filler.fill(&mut words);
            let mut single = start;
            for block in words.as_chunks::<BLOCK>().0 {
                assert_eq!(*block, single.next_block());
            }
            assert_eq!(filler, single);
            let mut apart = [0; 4 * 45];
            start.fill_at(&std::array::from_fn::<u64, 45, _>(|n| 300 * n as u64), &mut apart);
            for (n, block) in apart.as_chunks::<BLOCK>().0.iter().enumerate() {
                assert_eq!(*block, start.skipped(300 * n as u64).next_block());
            }
            assert_eq!(filler, start.skipped(53));
        }
    }

    #[test]
    fn words_are_those_of_the_blocks_in_order() {
        let (mut blocks, start) = (Philox::new(3, 4), Philox::new(3, 4));
        let mut words = Words::new(start);
        for _ in 0..3 {
            assert_eq!(blocks.next_block(), std::array::from_fn(|_| words.next_word()));
        }
        assert!((0..1000).map(|_| words.next_f64()).all(|x| (0.0..1.0).contains(&x)));
        // Two words each: the next number starts a block.
        assert_eq!(words.next_word(), start.skipped(3 + 500).next_block()[0]);
    }
}
