//! Discrete Fourier transforms of any length.
//!
//! A [`Plan`] of a length factors it into small primes, and transforms by Stockham's algorithm, which sorts as it goes: one pass for
//! each factor, its inner loop over contiguous elements. Lengths with a large prime factor are convolutions of the next power of two
//! (Bluestein). Twiddle factors are computed in double precision.
//!
//! ```
//! use num_complex::Complex;
//! use thalweg_math::fft::{Direction, Plan};
//!
//! let mut x = [1.0, 2.0, 3.0].map(|re| Complex::new(re, 0.0));
//! Plan::<f64>::new(3).run(Direction::Forward, &mut x);
//! assert_eq!(x[0], Complex::new(6.0, 0.0));
//! ```

use std::f64::consts::PI;

use crate::decompose::{ComplexScalar, RealScalar, Scalar};
use crate::scratch;

/// The largest prime factor with a pass of its own.
const LARGEST_PRIME: usize = 31;

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

/// Combines `radix` transforms of a part of the length.
struct Pass<R: RealScalar> {
    radix: usize,
    /// The length that later passes combine.
    rest: usize,
    /// The product of the radices before.
    done: usize,
    /// The twiddle factors: `radix - 1` for each of the `rest`.
    twiddles: Vec<R::Complex>,
    /// The roots of unity of the radix.
    roots: Vec<R::Complex>,
}

impl<R: RealScalar> Plan<R> {
    pub fn new(len: usize) -> Self {
        let way = match factors(len) {
            Some(factors) => Way::Passes(passes(len, &factors)),
            None => Way::Bluestein(Box::new(Bluestein::new(len))),
        };
        Plan { len, way }
    }

    /// Transforms one vector of the plan's length in place.
    pub fn run(&self, direction: Direction, x: &mut [R::Complex]) {
        let mut work = scratch::filled(self.work_len(), R::Complex::ZERO);
        self.run_with(direction, x, &mut work);
    }

    /// The elements of scratch memory that `run_with` needs.
    pub fn work_len(&self) -> usize {
        match &self.way {
            Way::Passes(_) => self.len,
            Way::Bluestein(b) => 2 * b.plan.len,
        }
    }

    /// As `run`, with scratch memory to use again.
    pub fn run_with(&self, direction: Direction, x: &mut [R::Complex], work: &mut [R::Complex]) {
        let conjugate = |x: &mut [R::Complex]| x.iter_mut().for_each(|x| *x = x.conj());
        // An inverse transform is the conjugate of the transform of the conjugate.
        if direction == Direction::Inverse {
            conjugate(x);
        }
        match &self.way {
            Way::Passes(passes) => run_passes(passes, x, &mut work[..self.len]),
            Way::Bluestein(b) => b.run(x, work),
        }
        if direction == Direction::Inverse {
            conjugate(x);
        }
    }
}

/// Factors of a length, 4 before 2; none if one is too large.
fn factors(len: usize) -> Option<Vec<usize>> {
    let (mut rest, mut found) = (len.max(1), scratch::with_capacity(64));
    for factor in std::iter::once(4).chain(2..=LARGEST_PRIME) {
        while rest % factor == 0 {
            found.push(factor);
            rest /= factor;
        }
    }
    (rest == 1).then_some(found)
}

/// `exp(-2 pi i k / n)`.
fn root<R: RealScalar>(k: usize, n: usize) -> R::Complex {
    // Exact on the axes.
    let (sin, cos) = match (k % n * 4).checked_div(n) {
        Some(quarters) if (k % n * 4).is_multiple_of(n) => {
            [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)][quarters % 4]
        }
        _ => (2.0 * PI * (k % n) as f64 / n as f64).sin_cos(),
    };
    R::Complex::new(R::from_f64(cos), R::from_f64(-sin))
}

fn passes<R: RealScalar>(len: usize, factors: &[usize]) -> Vec<Pass<R>> {
    let (mut rest, mut done) = (len, 1);
    scratch::collect(factors.iter().map(|&radix| {
        let n = rest;
        rest /= radix;
        let pass = Pass {
            radix,
            rest,
            done,
            twiddles: scratch::collect((0..rest).flat_map(|p| (1..radix).map(move |q| root::<R>(p * q, n)))),
            roots: scratch::collect((0..radix).map(|q| root::<R>(q, radix))),
        };
        done *= radix;
        pass
    }))
}

fn run_passes<R: RealScalar>(passes: &[Pass<R>], x: &mut [R::Complex], work: &mut [R::Complex]) {
    let (mut from, mut to) = (x, work);
    for pass in passes {
        pass.run(from, to);
        std::mem::swap(&mut from, &mut to);
    }
    if passes.len() % 2 == 1 {
        // The result is in `from`, the scratch memory.
        to.copy_from_slice(from);
    }
}

impl<R: RealScalar> Pass<R> {
    fn run(&self, from: &[R::Complex], to: &mut [R::Complex]) {
        match self.radix {
            2 => self.radix_2(from, to),
            3 => self.small::<3>(from, to),
            4 => self.radix_4(from, to),
            5 => self.small::<5>(from, to),
            _ => self.any(from, to),
        }
    }

    fn radix_2(&self, from: &[R::Complex], to: &mut [R::Complex]) {
        let s = self.done;
        let (low, high) = from.split_at(s * self.rest);
        for (p, to) in to.chunks_exact_mut(2 * s).enumerate() {
            let w = self.twiddles[p];
            let (y0, y1) = to.split_at_mut(s);
            let inputs = low[p * s..(p + 1) * s].iter().zip(&high[p * s..(p + 1) * s]);
            for ((a, b), (y0, y1)) in inputs.zip(y0.iter_mut().zip(y1)) {
                (*y0, *y1) = (*a + *b, (*a - *b) * w);
            }
        }
    }

    fn radix_4(&self, from: &[R::Complex], to: &mut [R::Complex]) {
        let (s, quarter) = (self.done, self.done * self.rest);
        for (p, to) in to.chunks_exact_mut(4 * s).enumerate() {
            let w = &self.twiddles[p * 3..p * 3 + 3];
            let part = |i: usize| &from[i * quarter + p * s..][..s];
            let (x0, x1, x2, x3) = (part(0), part(1), part(2), part(3));
            let (y01, y23) = to.split_at_mut(2 * s);
            let ((y0, y1), (y2, y3)) = (y01.split_at_mut(s), y23.split_at_mut(s));
            for i in 0..s {
                let (a, b) = (x0[i] + x2[i], x0[i] - x2[i]);
                let (c, d) = (x1[i] + x3[i], x1[i] - x3[i]);
                // -i times d.
                let d = R::Complex::new(d.im(), -d.re());
                y0[i] = a + c;
                y1[i] = (b + d) * w[0];
                y2[i] = (a - c) * w[1];
                y3[i] = (b - d) * w[2];
            }
        }
    }

    /// A radix known to the compiler, which unrolls its loops.
    fn small<const N: usize>(&self, from: &[R::Complex], to: &mut [R::Complex]) {
        let (s, part) = (self.done, self.done * self.rest);
        let roots: [R::Complex; N] = std::array::from_fn(|i| self.roots[i]);
        for (p, to) in to.chunks_exact_mut(N * s).enumerate() {
            for i in 0..s {
                let x: [R::Complex; N] = std::array::from_fn(|j| from[j * part + p * s + i]);
                for q in 0..N {
                    let mut sum = x[0];
                    for (j, x) in x.iter().enumerate().skip(1) {
                        sum = sum + *x * roots[j * q % N];
                    }
                    to[q * s + i] = if q == 0 { sum } else { sum * self.twiddles[p * (N - 1) + q - 1] };
                }
            }
        }
    }

    fn any(&self, from: &[R::Complex], to: &mut [R::Complex]) {
        let (s, part, radix) = (self.done, self.done * self.rest, self.radix);
        for (p, to) in to.chunks_exact_mut(radix * s).enumerate() {
            for (q, to) in to.chunks_exact_mut(s).enumerate() {
                let twiddle = if q == 0 { R::Complex::ONE } else { self.twiddles[p * (radix - 1) + q - 1] };
                to.copy_from_slice(&from[p * s..(p + 1) * s]);
                for j in 1..radix {
                    let root = self.roots[j * q % radix];
                    for (to, x) in to.iter_mut().zip(&from[j * part + p * s..]) {
                        *to = *to + *x * root;
                    }
                }
                to.iter_mut().for_each(|x| *x = *x * twiddle);
            }
        }
    }
}

/// A transform as a convolution with a chirp, of at least twice the length.
struct Bluestein<R: RealScalar> {
    len: usize,
    plan: Plan<R>,
    chirp: Vec<R::Complex>,
    /// The transform of the conjugate chirp, divided by its length.
    spectrum: Vec<R::Complex>,
}

impl<R: RealScalar> Bluestein<R> {
    fn new(len: usize) -> Self {
        let plan = Plan::new((2 * len - 1).next_power_of_two());
        // k^2 is reduced first, so that the angle is exact.
        let square = |k: usize| ((k as u128 * k as u128) % (2 * len as u128)) as usize;
        let chirp = scratch::collect((0..len).map(|k| root::<R>(square(k), 2 * len)));
        let mut spectrum = scratch::filled(plan.len, R::Complex::ZERO);
        let share = R::from_f64(1.0 / plan.len as f64);
        for (k, w) in chirp.iter().enumerate() {
            spectrum[k] = w.conj().scale(share);
            spectrum[(plan.len - k) % plan.len] = spectrum[k];
        }
        plan.run(Direction::Forward, &mut spectrum);
        Bluestein { len, plan, chirp, spectrum }
    }

    fn run(&self, x: &mut [R::Complex], work: &mut [R::Complex]) {
        let (product, work) = work.split_at_mut(self.plan.len);
        for ((to, x), w) in product.iter_mut().zip(&*x).zip(&self.chirp) {
            *to = *x * *w;
        }
        product[self.len..].fill(R::Complex::ZERO);
        self.plan.run_with(Direction::Forward, product, work);
        product.iter_mut().zip(&self.spectrum).for_each(|(x, s)| *x = *x * *s);
        self.plan.run_with(Direction::Inverse, product, work);
        for ((x, from), w) in x.iter_mut().zip(&*product).zip(&self.chirp) {
            *x = *from * *w;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    /// The definition.
    fn transform(x: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let n = x.len();
        (0..n).map(|k| x.iter().enumerate().map(|(j, x)| x * root::<f64>(j * k % n, n)).sum()).collect()
    }

    #[test]
    fn every_length_is_transformed_as_defined() {
        for n in (1..70).chain([100, 121, 127, 128, 210, 243, 256, 343, 480, 37 * 3, 1009]) {
            let x: Vec<Complex<f64>> =
                (0..n).map(|i| Complex::new((i * i % 13) as f64, (i % 7) as f64 - 3.0)).collect();
            let want = transform(&x);
            let mut got = x.clone();
            let plan = Plan::<f64>::new(n);
            plan.run(Direction::Forward, &mut got);
            for (a, b) in got.iter().zip(&want) {
                assert!((a - b).norm() < 1e-10 * n as f64, "{n}: {a} {b}");
            }
            plan.run(Direction::Inverse, &mut got);
            for (a, b) in got.iter().zip(&x) {
                assert!((a / n as f64 - b).norm() < 1e-11, "{n}: {a} {b}");
            }
        }
    }

    #[test]
    fn no_element_is_no_transform() {
        Plan::<f32>::new(0).run(Direction::Forward, &mut []);
    }
}
