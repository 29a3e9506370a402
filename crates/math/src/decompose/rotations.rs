//! Sequences of plane rotations of many vectors, applied late and together.
//!
//! An implicit QR step rotates pairs of neighbours: (0, 1), (1, 2), .. Each such sweep is only noted. When there are enough, the vectors
//! are rotated strip by strip: a strip of all vectors stays in the cache for all sweeps, and strips are independent of each other.

use super::RealScalar;
use crate::parallel::Parallel;
use crate::scratch;
use crate::shared::SharedMut;
use crate::simd::{Loop, widest};

/// Real numbers of a vector in a strip.
const WIDTH: usize = 32;
/// Sweeps that are noted before they are applied.
const SWEEPS: usize = 64;
/// Rotations of a strip that one thread does at least.
const GRAIN: usize = 1 << 12;

/// Vectors, and the rotations that they have not seen yet. Complex vectors are rotated as twice as many real numbers.
pub struct Rotated<R> {
    /// One strip after another; in a strip, its part of each vector.
    strips: Vec<R>,
    count: usize,
    len: usize,
    sweeps: Vec<Sweep>,
    /// Cosine and sine.
    rotations: Vec<[R; 2]>,
}

struct Sweep {
    /// The first vector.
    first: usize,
    /// Its rotations begin here.
    start: usize,
}

impl<R: RealScalar> Rotated<R> {
    /// `count` vectors, one after another.
    pub fn new(vectors: &[R], count: usize) -> Self {
        let len = vectors.len().checked_div(count).unwrap_or(0);
        let mut strips = scratch::filled(len.div_ceil(WIDTH) * count * WIDTH, R::ZERO);
        for (s, strip) in strips.chunks_exact_mut((count * WIDTH).max(1)).enumerate() {
            for (vector, part) in vectors.chunks_exact(len).zip(strip.chunks_exact_mut(WIDTH)) {
                let from = &vector[s * WIDTH..(s * WIDTH + WIDTH).min(len)];
                part[..from.len()].copy_from_slice(from);
            }
        }
        Rotated { strips, count, len, sweeps: scratch::with_capacity(SWEEPS), rotations: Vec::new() }
    }

    /// Begins a sweep at a vector; applies those before if there are enough.
    pub fn begin(&mut self, par: &dyn Parallel, first: usize) {
        if self.sweeps.len() == SWEEPS {
            self.apply(par);
        }
        self.sweeps.push(Sweep { first, start: self.rotations.len() });
    }

    /// Rotates the next pair (p, q) of the sweep to (c p - s q, s p + c q).
    pub fn push(&mut self, c: R, s: R) {
        if self.rotations.len() == self.rotations.capacity() && self.rotations.try_reserve(1).is_err() {
            scratch::out_of_memory::<[R; 2]>(self.rotations.len());
        }
        self.rotations.push([c, s]);
    }

    /// Applies what was noted.
    fn apply(&mut self, par: &dyn Parallel) {
        let size = self.count * WIDTH;
        let (sweeps, rotations) = (&self.sweeps[..], &self.rotations[..]);
        let strips = self.strips.len().checked_div(size).unwrap_or(0);
        let shared = SharedMut::new(&mut self.strips);
        par.run_ranges(strips, (GRAIN / rotations.len().max(1)).max(1), &|range| {
            for i in range {
                // SAFETY: ranges of strips do not overlap.
                let strip = unsafe { shared.range(i * size..(i + 1) * size) };
                widest(Strip { strip, sweeps, rotations });
            }
        });
        self.sweeps.clear();
        self.rotations.clear();
    }

    /// Rotates any two vectors, p before q, at once.
    pub fn rotate(&mut self, par: &dyn Parallel, [p, q]: [usize; 2], c: R, s: R) {
        self.apply(par);
        for strip in self.strips.chunks_exact_mut(self.count * WIDTH) {
            let (head, tail) = strip.split_at_mut(q * WIDTH);
            for (p, q) in head[p * WIDTH..(p + 1) * WIDTH].iter_mut().zip(&mut tail[..WIDTH]) {
                (*p, *q) = (c * *p - s * *q, s * *p + c * *q);
            }
        }
    }

    /// The vectors in a given order, one after another, some of them negated.
    pub fn finish(mut self, par: &dyn Parallel, order: &[usize], negated: &[bool]) -> Vec<R> {
        self.apply(par);
        let mut out = scratch::filled(order.len() * self.len, R::ZERO);
        for (from, out) in order.iter().zip(out.chunks_exact_mut(self.len.max(1))) {
            for (s, out) in out.chunks_mut(WIDTH).enumerate() {
                out.copy_from_slice(&self.strips[(s * self.count + from) * WIDTH..][..out.len()]);
            }
            if negated.get(*from) == Some(&true) {
                out.iter_mut().for_each(|x| *x = -*x);
            }
        }
        out
    }
}

struct Strip<'a, R> {
    strip: &'a mut [R],
    sweeps: &'a [Sweep],
    rotations: &'a [[R; 2]],
}

impl<R: RealScalar> Loop for Strip<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let vectors = self.strip.as_chunks_mut::<WIDTH>().0;
        for (i, sweep) in self.sweeps.iter().enumerate() {
            let end = self.sweeps.get(i + 1).map_or(self.rotations.len(), |next| next.start);
            let [first, rest @ ..] = &mut vectors[sweep.first..] else { continue };
            let mut p = *first;
            let mut out = first;
            for ([c, s], next) in self.rotations[sweep.start..end].iter().zip(rest) {
                // In local arrays, which are known not to overlap.
                let (q, mut turned) = (*next, [R::ZERO; WIDTH]);
                for i in 0..WIDTH {
                    turned[i] = (*c * p[i]).add_product::<FMA>(-*s, q[i]);
                    p[i] = (*c * q[i]).add_product::<FMA>(*s, p[i]);
                }
                *out = turned;
                out = next;
            }
            *out = p;
        }
    }
}
