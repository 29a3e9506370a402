//! Sources of streams: op attributes, reservations, stateless seeds.

use super::Philox;

/// Blocks that an op reserves for each output element, however many it uses.
pub const BLOCKS_PER_OUTPUT: u64 = 256;

/// The stream of one stateful op. Each execution reserves a part of it.
///
/// Not synchronised: an op whose executions overlap wraps it in a lock.
#[derive(Clone, Debug)]
pub struct PhiloxState {
    next: Philox,
}

impl PhiloxState {
    /// The state for the attributes `seed` and `seed2`. Both zero means
    /// "unseeded": the two seeds are then drawn from `entropy`.
    pub fn new(seed: i64, seed2: i64, mut entropy: impl FnMut() -> u64) -> Self {
        let (seed, seed2) =
            if (seed, seed2) == (0, 0) { (entropy() as i64, entropy() as i64) } else { (seed, seed2) };
        Self::from(Philox::new(seed, seed2))
    }

    /// Reserves the next `blocks` blocks and returns the stream at their start.
    pub fn reserve(&mut self, blocks: u64) -> Philox {
        let reserved = self.next;
        self.next.skip(blocks);
        reserved
    }

    /// As [`reserve`](Self::reserve), counted in 32-bit words.
    pub fn reserve_words(&mut self, words: u64) -> Philox {
        self.reserve(words.div_ceil(4))
    }

    /// Reserves the blocks of an execution with this many output elements.
    pub fn reserve_outputs(&mut self, outputs: u64) -> Philox {
        self.reserve(outputs.wrapping_mul(BLOCKS_PER_OUTPUT))
    }
}

impl From<Philox> for PhiloxState {
    fn from(next: Philox) -> Self {
        Self { next }
    }
}

/// The stream of the stateless ops for a two-element seed.
///
/// The seed is scrambled by one Philox block, so that it need not be random in
/// any particular bits. `StatelessRandomGetKeyCounter` returns the key and the
/// counter of this stream.
pub fn stateless(seed: [i64; 2]) -> Philox {
    let mut scrambler = Philox::from_key_counter(0x0246_1e29_3ec8_f720, seed.map(|s| s as u64));
    let [a, b, c, d] = scrambler.next_block().map(u64::from);
    Philox::from_key_counter(a | b << 32, [0, c | d << 32])
}
