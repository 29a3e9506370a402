//! Normal distributions cut off at bounds.

use super::philox::{BLOCK, Philox};
use super::real::Real;

/// A normal distribution between two bounds, at least one of which is finite.
#[derive(Clone, Copy, Debug)]
pub struct Between {
    pub mean: f64,
    pub deviation: f64,
    pub low: f64,
    pub high: f64,
}

/// Candidates in a row that may be rejected.
pub const MAX_REJECTED: usize = 1000;

impl Between {
    pub fn is_valid(&self) -> bool {
        self.deviation > 0.0 && self.low < self.high && (self.low.is_finite() || self.high.is_finite())
    }

    /// Calls `take` with as many samples as `count`. Steps are rounded to the type by `round`, as TensorFlow computes in it.
    /// False if candidates were rejected for too long.
    pub fn sample<T: Real + Into<f64>>(
        mut self,
        stream: &mut Philox,
        count: usize,
        round: impl Fn(f64) -> f64 + Copy,
        mut take: impl FnMut(f64),
    ) -> bool {
        // A single bound becomes the lower one, and two on one side of the mean are above it.
        if self.low == f64::NEG_INFINITY || self.high < self.mean {
            (self.low, self.high, self.deviation) = (self.high, self.low, -self.deviation);
        }
        let standard = |bound: f64| round(round(bound - self.mean) / self.deviation);
        let (low, high) = (standard(self.low), standard(self.high));
        let range = round(high - low);
        let source = Candidates::<_> { low, high, range, round };
        let (mut left, mut rejected) = (count, 0);
        while left > 0 {
            let (candidates, n) = source.next::<T>(stream);
            for candidate in &candidates[..n] {
                match candidate {
                    Some(z) if left > 0 => {
                        take(round(round(z * self.deviation) + self.mean));
                        (left, rejected) = (left - 1, 0);
                    }
                    Some(_) => {}
                    None => rejected += 1,
                }
                if left > 0 && rejected > MAX_REJECTED {
                    return false;
                }
            }
        }
        true
    }
}

/// Candidates of the standard normal distribution between `low` and `high`.
struct Candidates<R> {
    low: f64,
    high: f64,
    range: f64,
    round: R,
}

impl<R: Fn(f64) -> f64 + Copy> Candidates<R> {
    /// The next few: `None` where one is rejected. The method follows from where the bounds lie.
    fn next<T: Real + Into<f64>>(&self, stream: &mut Philox) -> ([Option<f64>; BLOCK], usize) {
        /// Bounds that many deviations apart keep most of the distribution.
        const WIDE: f64 = 1.3;
        let (low, high, round) = (self.low, self.high, self.round);
        let wide = round(WIDE);
        if (low < -wide && high >= 0.0) || (high > wide && low <= 0.0) {
            return self.of_normals::<T>(stream);
        }
        let root = round(round(round(low * low) + 4.0).sqrt());
        let exponent = round(0.5 + round(round(low * round(low - root)) / 4.0));
        let cutoff = round(round(2.0 * round(exponent.exp())) / round(low + root));
        if self.range < cutoff {
            return self.of_uniforms::<T>(stream);
        }
        self.of_exponentials::<T>(stream, round(round(low + root) / 2.0))
    }

    fn of_normals<T: Real>(&self, stream: &mut Philox) -> ([Option<f64>; BLOCK], usize) {
        let (mut wide, n) = ([T::Wide::default(); BLOCK], BLOCK / T::WORDS);
        T::normals(&stream.next_block(), &mut wide[..n]);
        let keep = |z: f64| (z >= self.low && z <= self.high).then_some(z);
        (std::array::from_fn(|i| keep((self.round)(wide[i].into()))), n)
    }

    /// Uniform between the bounds, kept with the probability of their height.
    fn of_uniforms<T: Real + Into<f64>>(&self, stream: &mut Philox) -> ([Option<f64>; BLOCK], usize) {
        let (round, n) = (self.round, BLOCK / T::WORDS);
        let (places, heights) = (uniforms::<T>(stream), uniforms::<T>(stream));
        let top = if self.low < 0.0 { 0.0 } else { round(self.low * self.low) };
        let of = |i: usize| {
            let z = round(round(places[i] * self.range) + self.low);
            let exponent = round(round(top - round(z * z)) / 2.0);
            (heights[i] <= round(exponent.exp())).then_some(z)
        };
        (std::array::from_fn(of), n)
    }

    /// Exponentially distributed above the lower bound.
    fn of_exponentials<T: Real + Into<f64>>(
        &self,
        stream: &mut Philox,
        alpha: f64,
    ) -> ([Option<f64>; BLOCK], usize) {
        let (round, words) = (self.round, uniforms::<T>(stream));
        let of = |i: usize| {
            let (place, height) = (*words.get(2 * i)?, *words.get(2 * i + 1)?);
            let z = round(round(-round(place.ln()) / alpha) + self.low);
            let x = if self.low < alpha { round(alpha - z) } else { round(self.low - alpha) };
            let g = round(round(round(-x * x) / 2.0).exp());
            (height <= g && z < self.high).then_some(z)
        };
        (std::array::from_fn(of), BLOCK / T::WORDS / 2)
    }
}

/// The uniform numbers of one block, the rest zeros.
fn uniforms<T: Real + Into<f64>>(stream: &mut Philox) -> [f64; BLOCK] {
    let words = stream.next_block();
    let mut out = [0.0; BLOCK];
    for (out, words) in out.iter_mut().zip(words.chunks_exact(T::WORDS)) {
        *out = T::uniform(words).into();
    }
    out
}
