//! A permutation of the indices below a bound, one index at a time: a small block cipher of the Simon family, walked until it
//! lands within the bound.

/// Where `index` goes among `0..=max`, by TensorFlow's cipher for this key. `rounds`: even, at least 4.
pub fn shuffled_index(index: u64, key: [u32; 3], max: u64, rounds: usize) -> u64 {
    let cipher = Cipher::new(key, max, rounds);
    cipher.shuffled(index)
}

/// The cipher for one key and bound, to permute many indices.
#[derive(Clone, Debug)]
pub struct Cipher {
    /// Bits in half a block.
    half: u32,
    mask: u64,
    max: u64,
    keys: Vec<u64>,
}

/// Half a block has at least as many bits: patterns show in smaller ones.
const MIN_HALF: u32 = 8;

/// Rounds beyond these add nothing.
pub const MAX_ROUNDS: usize = 1 << 10;

impl Cipher {
    pub fn new(key: [u32; 3], max: u64, rounds: usize) -> Cipher {
        // The bits of the bound, TensorFlow's way: a power of two counts as one bit less.
        let bits = if max <= 1 { 0 } else { u64::BITS - (max - 1).leading_zeros() };
        let half = bits.div_ceil(2).max(MIN_HALF);
        let mask = u64::MAX >> (u64::BITS - half);
        let mut keys: Vec<u64> = key.iter().map(|k| u64::from(*k) & mask).collect();
        let mut constant = 0x7369_f885_192c_0ef5_u64 & mask;
        let mut cipher = Cipher { half, mask, max, keys: Vec::new() };
        for i in 3..rounds.clamp(4, MAX_ROUNDS) & !1 {
            let last = keys[i - 1];
            let turned = cipher.left(last, half - 3) ^ cipher.left(last, half - 4);
            keys.push((0xffff_fffc & mask) ^ (constant & 1) ^ keys[i - 3] ^ turned);
            constant >>= 1;
        }
        cipher.keys = keys;
        cipher
    }

    /// Where an index goes. Indices beyond the bound come back as they are.
    pub fn shuffled(&self, index: u64) -> u64 {
        if index > self.max {
            return index;
        }
        let mut at = index;
        loop {
            at = self.encrypted(at);
            // A permutation: its cycle through `index` comes back below the bound at the latest there. A power of two as bound is
            // outside of the block if it is wide enough for all else.
            if at <= self.max {
                return at;
            }
        }
    }

    fn encrypted(&self, block: u64) -> u64 {
        let (mut high, mut low) =
            ((block.checked_shr(self.half).unwrap_or(0)) & self.mask, block & self.mask);
        for pair in self.keys.chunks_exact(2) {
            high ^= self.mixed(low) ^ pair[0];
            low ^= self.mixed(high) ^ pair[1];
        }
        (high.checked_shl(self.half).unwrap_or(0)) | low
    }

    fn mixed(&self, x: u64) -> u64 {
        (self.left(x, 1) & self.left(x, 8)) ^ self.left(x, 2)
    }

    /// Rotates half a block.
    fn left(&self, x: u64, by: u32) -> u64 {
        ((x << by) | (x >> (self.half - by))) & self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from TensorFlow 2.21's RandomIndexShuffle.
    #[test]
    fn indices_go_where_tensorflow_puts_them() {
        let first =
            |key, max, rounds| (0..9).map(|i| shuffled_index(i, key, max, rounds)).collect::<Vec<_>>();
        assert_eq!(first([1, 2, 3], 9, 4), [2, 0, 6, 4, 8, 1, 7, 9, 5]);
        assert_eq!(first([1, 2, 3], 100, 8), [21, 60, 28, 67, 93, 2, 58, 80, 39]);
        let far = [13622, 45065, 79125, 98787, 5714, 36952, 78922, 92365, 16288];
        assert_eq!(first([1, 2, 3], 100_000, 4), far);
        let farther = [3643989, 4718505, 1869206, 2735051, 3336558, 5375638, 3164396, 3321309, 6189279];
        let farthest = [27983762, 95092355, 162201008, 229309601, 296417750];
        assert_eq!(first([1, 2, 3], 1 << 40, 4)[..5], farthest);
        assert_eq!(first([4_000_000_000, 5, 77], 10_000_000, 6), farther);
    }

    #[test]
    fn every_bound_is_permuted() {
        for max in [0, 1, 2, 3, 8, 64, 255, 256, 1000] {
            let cipher = Cipher::new([7, 8, 9], max, 8);
            let mut all: Vec<u64> = (0..=max).map(|i| cipher.shuffled(i)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..=max).collect::<Vec<_>>());
        }
        assert!(Cipher::new([1, 2, 3], u64::MAX, 4).shuffled(12345) != 12345);
        let power = 1 << 20;
        assert!(Cipher::new([1, 2, 3], power, 4).shuffled(power) <= power);
    }
}
