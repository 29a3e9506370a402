//! A transform as a convolution with a chirp, of at least twice the length.

use super::roots::Roots;
use super::{Direction, Plan};
use crate::decompose::{RealScalar, Scalar};
use crate::scratch;

pub struct Bluestein<R: RealScalar> {
    len: usize,
    plan: Plan<R>,
    chirp: Vec<R::Complex>,
    /// The transform of the conjugate chirp, divided by its length.
    spectrum: Vec<R::Complex>,
}

impl<R: RealScalar> Bluestein<R> {
    pub fn new(len: usize) -> Self {
        let plan = Plan::new((2 * len - 1).next_power_of_two());
        // k^2 is reduced first, so that the angle is exact.
        let square = |k: usize| ((k as u128 * k as u128) % (2 * len as u128)) as usize;
        let roots = Roots::new(2 * len);
        let chirp = scratch::collect((0..len).map(|k| roots.get::<R>(square(k))));
        let mut spectrum = scratch::filled(plan.len, R::Complex::ZERO);
        let share = R::from_f64(1.0 / plan.len as f64);
        for (k, w) in chirp.iter().enumerate() {
            spectrum[k] = w.conj().scale(share);
            spectrum[(plan.len - k) % plan.len] = spectrum[k];
        }
        plan.run(Direction::Forward, &mut spectrum);
        Bluestein { len, plan, chirp, spectrum }
    }

    pub fn work_len(&self) -> usize {
        2 * self.plan.len
    }

    pub fn run(&self, x: &mut [R::Complex], work: &mut [R::Complex], lanes: usize) {
        let (product, work) = work.split_at_mut(self.plan.len * lanes);
        let times = |x: &mut [R::Complex], w: R::Complex| x.iter_mut().for_each(|x| *x = *x * w);
        product[..self.len * lanes].copy_from_slice(x);
        product[self.len * lanes..].fill(R::Complex::ZERO);
        product.chunks_exact_mut(lanes).zip(&self.chirp).for_each(|(x, w)| times(x, *w));
        self.plan.run_with(Direction::Forward, product, work, lanes);
        product.chunks_exact_mut(lanes).zip(&self.spectrum).for_each(|(x, s)| times(x, *s));
        self.plan.run_with(Direction::Inverse, product, work, lanes);
        product.chunks_exact_mut(lanes).zip(&self.chirp).for_each(|(x, w)| times(x, *w));
        x.copy_from_slice(&product[..self.len * lanes]);
    }
}
