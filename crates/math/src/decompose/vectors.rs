//! Loops over one or two vectors, compiled for each instruction set.

use super::Scalar;
use crate::simd::{Loop, widest};

/// Vectors shorter than this are not worth a call by instruction set.
const SHORT: usize = 16;

/// `y += factor * x`.
#[inline]
pub fn axpy<T: Scalar>(factor: T, x: &[T], y: &mut [T]) {
    if y.len() < SHORT {
        return add_scaled::<T, false>(factor, x, y);
    }
    widest(Axpy { factor, x, y })
}

struct Axpy<'a, T> {
    factor: T,
    x: &'a [T],
    y: &'a mut [T],
}

impl<T: Scalar> Loop for Axpy<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        add_scaled::<T, FMA>(self.factor, self.x, self.y)
    }
}

#[inline(always)]
fn add_scaled<T: Scalar, const FMA: bool>(factor: T, x: &[T], y: &mut [T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = y.add_product::<FMA>(factor, *x);
    }
}

/// `x^H y`.
#[inline]
pub fn dot<T: Scalar>(x: &[T], y: &[T]) -> T {
    if x.len() < SHORT {
        return x.iter().zip(y).fold(T::ZERO, |sum, (x, y)| sum + x.conj() * *y);
    }
    widest(Dot { x, y })
}

struct Dot<'a, T> {
    x: &'a [T],
    y: &'a [T],
}

impl<T: Scalar> Loop for Dot<'_, T> {
    type Output = T;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> T {
        if T::IS_COMPLEX { lanes::<T, FMA, 8>(self.x, self.y) } else { lanes::<T, FMA, 32>(self.x, self.y) }
    }
}

/// `x^H y` in partial sums, so that it vectorises.
#[inline(always)]
fn lanes<T: Scalar, const FMA: bool, const N: usize>(x: &[T], y: &[T]) -> T {
    let mut sums = [T::ZERO; N];
    let (x, y) = (x.as_chunks::<N>(), y.as_chunks::<N>());
    for (x, y) in x.0.iter().zip(y.0) {
        for (s, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *s = s.add_product::<FMA>(x.conj(), *y);
        }
    }
    for (s, (x, y)) in sums.iter_mut().zip(x.1.iter().zip(y.1)) {
        *s = s.add_product::<FMA>(x.conj(), *y);
    }
    total(sums)
}

/// `(x, y) = (c x + s y, c y - s^H x)`, elementwise.
#[inline]
pub fn turn<T: Scalar>(x: &mut [T], y: &mut [T], c: T::Real, s: T) {
    if y.len() < SHORT {
        return turned::<T, false>(x, y, c, s);
    }
    widest(Turn { x, y, c, s })
}

struct Turn<'a, T: Scalar> {
    x: &'a mut [T],
    y: &'a mut [T],
    c: T::Real,
    s: T,
}

impl<T: Scalar> Loop for Turn<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        turned::<T, FMA>(self.x, self.y, self.c, self.s)
    }
}

#[inline(always)]
fn turned<T: Scalar, const FMA: bool>(x: &mut [T], y: &mut [T], c: T::Real, s: T) {
    let back = -s.conj();
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (x.scale(c).add_product::<FMA>(s, *y), y.scale(c).add_product::<FMA>(back, *x));
    }
}

/// The sum of partial sums, pair by pair.
#[inline(always)]
pub fn total<T: Scalar, const N: usize>(mut sums: [T; N]) -> T {
    let mut width = N;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            sums[i] = sums[i] + sums[i + width];
        }
    }
    sums[0]
}
