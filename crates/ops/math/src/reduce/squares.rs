//! Sums of squares: in double precision; wrapping for integers.

use crate::prelude::*;
use thalweg_math::reduce::Reducer;

/// A function of the sum of squares.
pub struct Squares(pub fn(f64) -> f64);

/// A number whose square is real.
pub trait Squared: Number {
    /// Whether loops over such numbers are compiled for each instruction set.
    const WIDE: bool = false;

    fn square(self) -> f64;
}

macro_rules! real {
    ($($t:ty: $wide:literal),*) => { $( impl Squared for $t {
        const WIDE: bool = $wide;

        #[inline] fn square(self) -> f64 { self.to_f64() * self.to_f64() }
    } )* };
}
real!(f32: true, f64: true, f16: false, bf16: false);

impl Squared for Complex32 {
    #[inline]
    fn square(self) -> f64 {
        self.re as f64 * self.re as f64 + self.im as f64 * self.im as f64
    }
}

impl Squared for ComplexDouble {
    #[inline]
    fn square(self) -> f64 {
        self.norm_sqr()
    }
}

impl<T: Squared> Reducer<T> for Squares {
    type Acc = f64;
    type Out = T;
    const WIDE: bool = T::WIDE;

    #[inline(always)]
    fn init(&self) -> f64 {
        0.0
    }

    #[inline(always)]
    fn step(&self, acc: f64, x: T) -> f64 {
        acc + x.square()
    }

    #[inline(always)]
    fn combine(&self, a: f64, b: f64) -> f64 {
        a + b
    }

    #[inline(always)]
    fn finish(&self, acc: f64) -> T {
        T::from_f64((self.0)(acc))
    }
}

/// The square root of the sum of squares of integers, in their own type.
pub struct IntegerNorm;

impl<T: Real> Reducer<T> for IntegerNorm {
    type Acc = T;
    type Out = T;
    const WIDE: bool = false;

    #[inline(always)]
    fn init(&self) -> T {
        T::ZERO
    }

    #[inline(always)]
    fn step(&self, acc: T, x: T) -> T {
        acc.add(x.mul(x))
    }

    #[inline(always)]
    fn combine(&self, a: T, b: T) -> T {
        a.add(b)
    }

    #[inline(always)]
    fn finish(&self, acc: T) -> T {
        T::from_f64(acc.to_f64().sqrt())
    }
}
