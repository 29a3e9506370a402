//! Elementwise functions of update rules.

use crate::prelude::*;

/// A number with a square root.
pub trait Root: Number {
    fn root(self) -> Self;
}

macro_rules! roots {
    ($($t:ty: $root:expr),*) => { $(
        impl Root for $t {
            #[inline(always)]
            fn root(self) -> Self {
                $root(self)
            }
        }
    )* };
}
roots!(f32: f32::sqrt, f64: f64::sqrt, Complex32: Complex32::sqrt, ComplexDouble: ComplexDouble::sqrt);
roots!(f16: |x: f16| f16::from_f32(x.to_f32().sqrt()), bf16: |x: bf16| bf16::from_f32(x.to_f32().sqrt()));

/// -1, 0 or 1.
#[inline(always)]
pub fn sign<T: Real>(x: T) -> T {
    if x > T::ZERO {
        T::ONE
    } else if x < T::ZERO {
        T::ONE.neg()
    } else {
        x
    }
}

/// x moved towards zero by `distance`, no further than zero (soft thresholding).
#[inline(always)]
pub fn towards_zero<T: Real>(x: T, distance: T) -> T {
    sign(x).mul(x.absolute().sub(distance).larger(T::ZERO))
}

/// x moved towards zero by `l1 * rate` and scaled by `1 / (1 + l2 * rate)`: the step of proximal methods.
#[inline(always)]
pub fn shrunk<T: Real>(x: T, rate: T, l1: T, l2: T) -> T {
    let left = if l1 > T::ZERO { towards_zero(x, rate.mul(l1)) } else { x };
    left.div(T::ONE.add(l2.mul(rate)))
}

/// Rejects a negative scalar or NaN.
pub fn not_negative<T: Real>(name: &str, value: T) -> Result<()> {
    if value >= T::ZERO {
        return Ok(());
    }
    Err(invalid!("{name} is not a non-negative scalar: {}", value.to_f64()))
}

/// Rejects a non-positive scalar or NaN.
pub fn positive<T: Real>(name: &str, value: T) -> Result<()> {
    if value > T::ZERO {
        return Ok(());
    }
    Err(invalid!("{name} is not a positive scalar: {}", value.to_f64()))
}
