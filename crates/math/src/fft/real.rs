//! Transforms of real vectors: of an even length as complex ones of half of it.

use super::roots::Roots;
use super::{Direction, Plan};
use crate::decompose::{ComplexScalar, RealScalar, Scalar};
use crate::scratch;

/// How real vectors of one length are transformed. The first `len / 2 + 1` elements of a spectrum are kept; the others are their
/// conjugates.
pub struct RealPlan<R: RealScalar> {
    len: usize,
    plan: Plan<R>,
    /// The first half of the roots of unity, if the length is even.
    roots: Vec<R::Complex>,
}

impl<R: RealScalar> RealPlan<R> {
    pub fn new(len: usize) -> Self {
        if len < 2 || len % 2 == 1 {
            return RealPlan { len, plan: Plan::new(len), roots: Vec::new() };
        }
        let roots = Roots::new(len);
        RealPlan {
            len,
            plan: Plan::new(len / 2),
            roots: scratch::collect((0..=len / 2).map(|k| roots.get::<R>(k))),
        }
    }

    /// Elements kept of a spectrum.
    pub fn kept(&self) -> usize {
        self.len / 2 + 1
    }

    /// The elements of scratch memory that a transform needs for each lane.
    pub fn work_len(&self) -> usize {
        self.plan.len + self.plan.work_len()
    }

    /// The spectra of vectors, one after another.
    pub fn forward(&self, x: &[R], out: &mut [R::Complex], work: &mut [R::Complex]) {
        let lanes = x.len().checked_div(self.len).unwrap_or(0);
        let (z, work) = work.split_at_mut(self.plan.len * lanes);
        let spectra = out.chunks_exact_mut(self.kept());
        if self.roots.is_empty() {
            for (l, x) in x.chunks_exact(self.len).enumerate() {
                z.iter_mut().skip(l).step_by(lanes).zip(x).for_each(|(z, x)| *z = R::Complex::from_real(*x));
            }
            self.plan.run_with(Direction::Forward, z, work, lanes);
            for (l, out) in spectra.enumerate() {
                out.iter_mut().zip(z.iter().skip(l).step_by(lanes)).for_each(|(out, z)| *out = *z);
            }
            return;
        }
        let half = self.plan.len;
        for (l, x) in x.chunks_exact(self.len).enumerate() {
            let pairs = bytemuck::cast_slice::<R, R::Complex>(x);
            z.iter_mut().skip(l).step_by(lanes).zip(pairs).for_each(|(z, x)| *z = *x);
        }
        self.plan.run_with(Direction::Forward, z, work, lanes);
        let share = R::from_f64(0.5);
        for (l, out) in spectra.enumerate() {
            for (k, (out, root)) in out.iter_mut().zip(&self.roots).enumerate() {
                // Even and odd elements apart, and together again.
                let at = |k: usize| z[k * lanes + l];
                let (z, mirrored) =
                    (at(if k == half { 0 } else { k }), at(if k == 0 { 0 } else { half - k }).conj());
                let (even, odd) = (z + mirrored, z - mirrored);
                let odd = R::Complex::new(odd.im(), -odd.re());
                *out = (even + odd * *root).scale(share);
            }
        }
    }

    /// The vectors of spectra, one after another, not divided by the length. The imaginary parts of the first and of the middle
    /// element do not count.
    pub fn inverse(&self, spectra: &[R::Complex], out: &mut [R], work: &mut [R::Complex]) {
        let lanes = out.len().checked_div(self.len).unwrap_or(0);
        let (z, work) = work.split_at_mut(self.plan.len * lanes);
        let real = |x: R::Complex| R::Complex::from_real(x.re());
        if self.roots.is_empty() {
            for (l, x) in spectra.chunks_exact(self.kept()).enumerate() {
                z[l] = real(x[0]);
                for (k, x) in x.iter().enumerate().skip(1) {
                    z[k * lanes + l] = *x;
                    z[(self.len - k) * lanes + l] = x.conj();
                }
            }
            self.plan.run_with(Direction::Inverse, z, work, lanes);
            for (l, out) in out.chunks_exact_mut(self.len).enumerate() {
                out.iter_mut().zip(z.iter().skip(l).step_by(lanes)).for_each(|(out, z)| *out = z.re());
            }
            return;
        }
        let half = self.plan.len;
        for (l, x) in spectra.chunks_exact(self.kept()).enumerate() {
            for (k, root) in self.roots[..half].iter().enumerate() {
                let (one, other) =
                    if k == 0 { (real(x[0]), real(x[half])) } else { (x[k], x[half - k].conj()) };
                let odd = (one - other) * root.conj();
                z[k * lanes + l] = one + other + R::Complex::new(-odd.im(), odd.re());
            }
        }
        self.plan.run_with(Direction::Inverse, z, work, lanes);
        for (l, out) in out.chunks_exact_mut(self.len).enumerate() {
            let pairs = bytemuck::cast_slice_mut::<R, R::Complex>(out);
            pairs.iter_mut().zip(z.iter().skip(l).step_by(lanes)).for_each(|(out, z)| *out = *z);
        }
    }
}
