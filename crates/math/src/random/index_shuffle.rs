//! Random permutations of index ranges without a list: a cipher whose blocks are indices, applied until the result is in range.
//!
//! The cipher is Simon (Beaulieu et al., 2013) with few rounds and words of any size, as in TensorFlow.

/// Blocks have at least that many bits.
const MIN_BITS: u32 = 16;

/// Where a permutation of `0..=max_index`, which the key decides, puts `index`.
pub fn shuffled_index(index: u64, key: [u32; 3], max_index: u64, rounds: usize) -> u64 {
    if max_index == 0 {
        return 0;
    }
    let bits = (max_index as f64).log2().ceil() as u32;
    let cipher = Simon::new((bits + bits % 2).clamp(MIN_BITS, 64) / 2, key, rounds);
    let mut at = index;
    loop {
        at = cipher.encrypt(at);
        if at <= max_index {
            return at;
        }
    }
}

/// Rounds at most: the constant of the key schedule has as many bits.
pub const MAX_ROUNDS: usize = 64;

struct Simon {
    /// Bits of a word, half a block.
    width: u32,
    keys: [u64; MAX_ROUNDS],
    rounds: usize,
}

impl Simon {
    fn new(width: u32, key: [u32; 3], rounds: usize) -> Simon {
        let rounds = rounds.next_multiple_of(2).clamp(4, MAX_ROUNDS);
        let mut cipher = Simon { width, keys: [0; MAX_ROUNDS], rounds };
        for (i, key) in key.into_iter().enumerate() {
            cipher.keys[i] = u64::from(key) & cipher.mask();
        }
        let mut z = 0x7369_f885_192c_0ef5 & cipher.mask();
        for i in 3..rounds {
            let last = cipher.keys[i - 1];
            let turned = cipher.left(last, width - 3) ^ cipher.left(last, width - 4);
            cipher.keys[i] = (0xffff_fffc & cipher.mask()) ^ (z & 1) ^ cipher.keys[i - 3] ^ turned;
            z >>= 1;
        }
        cipher
    }

    fn mask(&self) -> u64 {
        (1 << self.width) - 1
    }

    /// Turns a word left.
    fn left(&self, word: u64, places: u32) -> u64 {
        ((word << places) | (word >> (self.width - places))) & self.mask()
    }

    fn mix(&self, word: u64) -> u64 {
        (self.left(word, 1) & self.left(word, 8 % self.width)) ^ self.left(word, 2)
    }

    fn encrypt(&self, block: u64) -> u64 {
        let (mut left, mut right) = (block >> self.width & self.mask(), block & self.mask());
        for pair in self.keys[..self.rounds].as_chunks::<2>().0 {
            left ^= self.mix(right) ^ pair[0];
            right ^= self.mix(left) ^ pair[1];
        }
        left << self.width | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TensorFlow 2.21's.
    #[test]
    fn known_answers() {
        let of = |max: u64, rounds: usize| [0, 1, 2, 3, 4].map(|i| shuffled_index(i, [1, 2, 3], max, rounds));
        assert_eq!(of(4, 4), [2, 0, 3, 4, 1]);
        assert_eq!(of(4, 6), [1, 4, 3, 2, 0]);
        assert_eq!(of(1 << 40, 4), [27983762, 95092355, 162201008, 229309601, 296417750]);
    }

    #[test]
    fn every_index_once() {
        let mut all: Vec<u64> = (0..=1000).map(|i| shuffled_index(i, [7, 8, 9], 1000, 4)).collect();
        all.sort_unstable();
        assert!(all.iter().enumerate().all(|(i, v)| i as u64 == *v));
    }
}
