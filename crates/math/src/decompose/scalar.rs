//! The numbers that decompositions are generic over.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

use bytemuck::Pod;
use num_complex::Complex;

use crate::gemm::GemmElement;

/// A real or complex number.
pub trait Scalar:
    GemmElement
    + Pod
    + Debug
    + PartialEq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    type Real: RealScalar<Complex = Self::Complex>;
    type Complex: ComplexScalar<Real = Self::Real>;
    const ZERO: Self;
    const ONE: Self;
    const IS_COMPLEX: bool;
    fn from_real(re: Self::Real) -> Self;
    /// The real part, for real numbers.
    fn from_complex(z: Self::Complex) -> Self;
    fn to_complex(self) -> Self::Complex;
    fn re(self) -> Self::Real;
    fn conj(self) -> Self;
    fn abs(self) -> Self::Real;
    /// The square of the absolute value.
    fn norm(self) -> Self::Real;
    fn scale(self, by: Self::Real) -> Self;
    fn is_finite(self) -> bool;

    /// The number over its absolute value. Infinite reals have one too.
    fn sign(self) -> Self;

    /// `self + x * y`, fused if `FMA`: for loops, so always inlined.
    fn add_product<const FMA: bool>(self, x: Self, y: Self) -> Self;
}

/// A real number.
pub trait RealScalar: Scalar<Real = Self> + PartialOrd {
    const EPSILON: Self;
    const MIN_POSITIVE: Self;
    const INFINITY: Self;
    const NAN: Self;
    fn from_f64(v: f64) -> Self;
    fn to_f64(self) -> f64;
    fn sqrt(self) -> Self;
    fn hypot(self, other: Self) -> Self;
    fn exp(self) -> Self;
    fn ln(self) -> Self;

    /// As `hypot`, of numbers that are known not to overflow when they are squared; quicker.
    fn length(self, other: Self) -> Self {
        let square = self * self + other * other;
        if square > Self::MIN_POSITIVE / Self::EPSILON { square.sqrt() } else { self.hypot(other) }
    }

    fn larger(self, other: Self) -> Self {
        if self >= other { self } else { other }
    }
}

/// A complex number.
pub trait ComplexScalar: Scalar<Complex = Self> {
    fn new(re: Self::Real, im: Self::Real) -> Self;
    fn im(self) -> Self::Real;
    fn sqrt(self) -> Self;
    fn ln(self) -> Self;
}

macro_rules! scalars {
    ($($t:ident),*) => {$(
        impl Scalar for $t {
            type Real = $t;
            type Complex = Complex<$t>;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const IS_COMPLEX: bool = false;
            #[inline] fn from_real(re: $t) -> Self { re }
            #[inline] fn from_complex(z: Complex<$t>) -> Self { z.re }
            #[inline] fn to_complex(self) -> Complex<$t> { Complex::new(self, 0.0) }
            #[inline] fn re(self) -> $t { self }
            #[inline] fn conj(self) -> Self { self }
            #[inline] fn abs(self) -> $t { $t::abs(self) }
            #[inline] fn norm(self) -> $t { self * self }
            #[inline] fn scale(self, by: $t) -> Self { self * by }
            #[inline] fn is_finite(self) -> bool { $t::is_finite(self) }
            #[inline] fn sign(self) -> Self { $t::signum(self) }
            #[inline(always)] fn add_product<const FMA: bool>(self, x: Self, y: Self) -> Self {
                if FMA { x.mul_add(y, self) } else { self + x * y }
            }
        }
        impl RealScalar for $t {
            const EPSILON: Self = $t::EPSILON;
            const MIN_POSITIVE: Self = $t::MIN_POSITIVE;
            const INFINITY: Self = $t::INFINITY;
            const NAN: Self = $t::NAN;
            #[inline] fn from_f64(v: f64) -> Self { v as $t }
            #[inline] fn to_f64(self) -> f64 { self as f64 }
            #[inline] fn sqrt(self) -> Self { $t::sqrt(self) }
            #[inline] fn hypot(self, other: Self) -> Self { $t::hypot(self, other) }
            #[inline] fn exp(self) -> Self { $t::exp(self) }
            #[inline] fn ln(self) -> Self { $t::ln(self) }
        }
        impl Scalar for Complex<$t> {
            type Real = $t;
            type Complex = Self;
            const ZERO: Self = Complex::new(0.0, 0.0);
            const ONE: Self = Complex::new(1.0, 0.0);
            const IS_COMPLEX: bool = true;
            #[inline] fn from_real(re: $t) -> Self { Complex::new(re, 0.0) }
            #[inline] fn from_complex(z: Self) -> Self { z }
            #[inline] fn to_complex(self) -> Self { self }
            #[inline] fn re(self) -> $t { self.re }
            #[inline] fn conj(self) -> Self { Complex::conj(&self) }
            #[inline] fn abs(self) -> $t { Complex::norm(self) }
            #[inline] fn norm(self) -> $t { self.norm_sqr() }
            #[inline] fn scale(self, by: $t) -> Self { Complex::new(self.re * by, self.im * by) }
            #[inline] fn is_finite(self) -> bool { self.re.is_finite() && self.im.is_finite() }
            #[inline] fn sign(self) -> Self { self / Complex::norm(self) }
            #[inline(always)] fn add_product<const FMA: bool>(self, x: Self, y: Self) -> Self {
                let re = self.re.add_product::<FMA>(x.re, y.re).add_product::<FMA>(-x.im, y.im);
                Complex::new(re, self.im.add_product::<FMA>(x.re, y.im).add_product::<FMA>(x.im, y.re))
            }
        }
        impl ComplexScalar for Complex<$t> {
            #[inline] fn new(re: $t, im: $t) -> Self { Complex::new(re, im) }
            #[inline] fn im(self) -> $t { self.im }
            #[inline] fn sqrt(self) -> Self { Complex::sqrt(self) }
            #[inline] fn ln(self) -> Self { Complex::ln(self) }
        }
    )*};
}

scalars!(f32, f64);
