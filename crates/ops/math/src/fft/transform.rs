//! Transforms of tensors: one axis after another, each as contiguous rows.

use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use bytemuck::Pod;
use thalweg_math::decompose::{ComplexScalar, RealScalar, Scalar};
use thalweg_math::fft::{Direction, Plan};
use thalweg_math::parallel::Parallel;
use thalweg_math::transpose::transpose;

/// Elements that one thread transforms at least.
const GRAIN: usize = 1 << 13;

/// Complex element types of tensors.
pub trait Spectrum: Element + ComplexScalar + Pod {}
impl<T: Element + ComplexScalar + Pod> Spectrum for T {}

/// Transforms contiguous rows.
pub fn rows<C: Spectrum>(par: &dyn Parallel, direction: Direction, data: &mut [C], len: usize) {
    if len < 2 {
        return;
    }
    let plan = Plan::<C::Real>::new(len);
    for_chunks_of(par, data, len, GRAIN.div_ceil(len), &|_, chunk| {
        let mut work = scratch::filled(plan.work_len(), C::ZERO);
        chunk.chunks_exact_mut(len).for_each(|row| plan.run_with(direction, row, &mut work));
    });
}

/// Transforms along an axis of a tensor of this shape.
pub fn axis<C: Spectrum>(
    par: &dyn Parallel,
    direction: Direction,
    data: &mut [C],
    shape: &[usize],
    axis: usize,
) {
    let (outer, len, inner) =
        (shape[..axis].iter().product::<usize>(), shape[axis], shape[axis + 1..].iter().product::<usize>());
    if inner == 1 || data.is_empty() {
        return rows(par, direction, data, len);
    }
    let mut turned = scratch::filled(data.len(), C::ZERO);
    transpose(par, &[outer, len, inner], &[0, 2, 1], data, &mut turned);
    rows(par, direction, &mut turned, len);
    transpose(par, &[outer, inner, len], &[0, 2, 1], &turned, data);
}

/// Divides by the number of elements that were transformed together.
pub fn scale<C: Spectrum>(data: &mut [C], count: usize) {
    let share = C::Real::ONE / C::Real::from_f64(count.max(1) as f64);
    data.iter_mut().for_each(|x| *x = x.scale(share));
}
