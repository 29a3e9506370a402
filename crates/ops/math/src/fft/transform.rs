//! Transforms of tensors, along one axis after another.

use crate::prelude::*;
use bytemuck::Pod;
use thalweg_math::decompose::{ComplexScalar, RealScalar};
use thalweg_math::fft::{self, Direction, FourierReal};
use thalweg_math::parallel::Parallel;

/// Complex element types of tensors.
pub trait Spectrum: Element + ComplexScalar<Real: FourierReal> + Pod {}
impl<T: Element + ComplexScalar<Real: FourierReal> + Pod> Spectrum for T {}

/// Transforms along an axis of a tensor of this shape.
pub fn axis<C: Spectrum>(
    par: &dyn Parallel,
    direction: Direction,
    data: &mut [C],
    shape: &[usize],
    axis: usize,
) {
    let (outer, inner) = (shape[..axis].iter().product(), shape[axis + 1..].iter().product());
    fft::transform::<C::Real>(par, direction, data, [outer, shape[axis], inner]);
}

/// The reciprocal of the number of elements that were transformed together.
pub fn share<R: RealScalar>(count: usize) -> R {
    R::ONE / R::from_f64(count.max(1) as f64)
}

/// Divides by the number of elements that were transformed together.
pub fn scale<C: Spectrum>(data: &mut [C], count: usize) {
    let share = share(count);
    data.iter_mut().for_each(|x| *x = x.scale(share));
}
