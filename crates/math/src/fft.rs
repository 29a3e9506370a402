//! Discrete Fourier transforms of any length.
//!
//! A [`Plan`] of a length factors it into small primes, and transforms by Stockham's algorithm, which sorts as it goes: one pass for
//! each factor (`passes`), its inner loop over contiguous elements. Lengths with a large prime factor are convolutions of the next power
//! of two (`bluestein`). [`transform`] takes several vectors at a time, as lanes of these loops. Twiddle factors are computed in double
//! precision.
//!
//! ```
//! use num_complex::Complex;
//! use thalweg_math::fft::{Direction, Plan};
//!
//! let mut x = [1.0, 2.0, 3.0].map(|re| Complex::new(re, 0.0));
//! Plan::<f64>::new(3).run(Direction::Forward, &mut x);
//! assert_eq!(x[0], Complex::new(6.0, 0.0));
//! ```

mod batch;
mod bluestein;
mod passes;
mod real;
mod roots;

pub use batch::{FourierReal, inverse_real, real, transform};
pub use real::RealPlan;

use crate::decompose::{RealScalar, Scalar};
use crate::scratch;
use bluestein::Bluestein;
use passes::Pass;

/// The sign of the exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forward,
    /// Not divided by the length.
    Inverse,
}

/// How vectors of one length are transformed. Part of a call, never kept: making it costs less than a transform.
pub struct Plan<R: RealScalar> {
    len: usize,
    way: Way<R>,
}

enum Way<R: RealScalar> {
    Passes(Vec<Pass<R>>),
    Bluestein(Box<Bluestein<R>>),
}

impl<R: RealScalar> Plan<R> {
    pub fn new(len: usize) -> Self {
        let way = match passes::factors(len) {
            Some(factors) => Way::Passes(passes::passes(len, &factors)),
            None => Way::Bluestein(Box::new(Bluestein::new(len))),
        };
        Plan { len, way }
    }

    /// Transforms one vector of the plan's length in place.
    pub fn run(&self, direction: Direction, x: &mut [R::Complex]) {
        let mut work = scratch::filled(self.work_len(), R::Complex::ZERO);
        self.run_with(direction, x, &mut work, 1);
    }

    /// The elements of scratch memory that `run_with` needs for each lane.
    pub fn work_len(&self) -> usize {
        match &self.way {
            Way::Passes(_) => self.len,
            Way::Bluestein(b) => b.work_len(),
        }
    }

    /// As `run`, with scratch memory to use again, for several vectors, whose elements alternate.
    pub fn run_with(
        &self,
        direction: Direction,
        x: &mut [R::Complex],
        work: &mut [R::Complex],
        lanes: usize,
    ) {
        let conjugate = |x: &mut [R::Complex]| x.iter_mut().for_each(|x| *x = x.conj());
        // An inverse transform is the conjugate of the transform of the conjugate.
        if direction == Direction::Inverse {
            conjugate(x);
        }
        match &self.way {
            Way::Passes(passes) => passes::run(passes, x, &mut work[..self.len * lanes], lanes),
            Way::Bluestein(b) => b.run(x, work, lanes),
        }
        if direction == Direction::Inverse {
            conjugate(x);
        }
    }
}

#[cfg(test)]
mod tests;
