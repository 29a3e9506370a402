//! Arithmetic on element types, with TensorFlow's meaning: integers wrap, halves compute in float.

use crate::prelude::{Complex32, ComplexDouble, Element, bf16, f16};
use std::ops::{BitAnd, BitOr, BitXor, Not};
use thalweg_math::rounding::Round;

/// Types with addition and multiplication.
pub trait Number: Element {
    const ZERO: Self;
    const ONE: Self;
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    /// Division as `/`: integers truncate. The caller rejects integer division by zero.
    fn div(self, o: Self) -> Self;
    fn neg(self) -> Self;
    /// The nearest value of this type (the real part, for complex).
    fn from_f64(v: f64) -> Self;
    fn from_i64(v: i64) -> Self;
}

/// Ordered numbers.
pub trait Real: Number + PartialOrd + thalweg_math::reduce::Element {
    const IS_INTEGER: bool;
    fn to_f64(self) -> f64;
    /// As `max` in TensorFlow: NaN wins.
    fn larger(self, o: Self) -> Self;
    fn smaller(self, o: Self) -> Self;
    fn absolute(self) -> Self;
    /// Quotient rounded towards minus infinity.
    fn floor_div(self, o: Self) -> Self;
    /// Remainder with the sign of the divisor.
    fn floor_mod(self, o: Self) -> Self;
    /// Remainder with the sign of the dividend.
    fn truncate_mod(self, o: Self) -> Self;
    fn is_nan(self) -> bool;
    /// A sort key: ordered as the values are, NaN last. Sorts by it need not be compiled for each type.
    fn rank(self) -> u64;
    fn lowest() -> Self;
    fn highest() -> Self;
    /// The range without infinities.
    fn least_finite() -> Self;
    fn greatest_finite() -> Self;
}

/// Bits of doubles ascend with the value; if negative, they descend.
fn rank_of_double(v: f64) -> u64 {
    // Both zeros are equal.
    let bits = (v + 0.0).to_bits();
    match bits >> 63 {
        _ if v.is_nan() => u64::MAX,
        0 => bits | 1 << 63,
        _ => !bits,
    }
}

/// Integers, with bitwise ops.
pub trait Integer:
    Real + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    /// The shift is clamped to 0 ..= width - 1, as in TensorFlow.
    fn shifted_left(self, places: Self) -> Self;
    fn shifted_right(self, places: Self) -> Self;
    fn bits_set(self) -> u32;
}

/// Real floating point.
pub trait Float: Real {
    /// Computes with f32 (halves and floats) or f64 (doubles).
    fn via(self, single: fn(f32) -> f32, double: fn(f64) -> f64) -> Self;
    fn via2(self, o: Self, single: fn(f32, f32) -> f32, double: fn(f64, f64) -> f64) -> Self;
}

/// Complex numbers.
pub trait ComplexNumber: Number {
    type Part: Float;
    fn new(re: Self::Part, im: Self::Part) -> Self;
    fn re(self) -> Self::Part;
    fn im(self) -> Self::Part;
    fn conjugate(self) -> Self;
    /// Computes in double precision.
    fn map(self, f: fn(ComplexDouble) -> ComplexDouble) -> Self;
    fn map2(self, o: Self, f: fn(ComplexDouble, ComplexDouble) -> ComplexDouble) -> Self;
}

macro_rules! integers {
    ($($t:ty),*) => { $(
        impl Number for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline] fn add(self, o: Self) -> Self { self.wrapping_add(o) }
            #[inline] fn sub(self, o: Self) -> Self { self.wrapping_sub(o) }
            #[inline] fn mul(self, o: Self) -> Self { self.wrapping_mul(o) }
            #[inline] fn div(self, o: Self) -> Self { if o == 0 { 0 } else { self.wrapping_div(o) } }
            #[inline] fn neg(self) -> Self { self.wrapping_neg() }
            #[inline] fn from_f64(v: f64) -> Self { v as $t }
            #[inline] fn from_i64(v: i64) -> Self { v as $t }
        }
        impl Real for $t {
            const IS_INTEGER: bool = true;
            #[inline] fn to_f64(self) -> f64 { self as f64 }
            #[inline] fn larger(self, o: Self) -> Self { self.max(o) }
            #[inline] fn smaller(self, o: Self) -> Self { self.min(o) }
            #[allow(unused_comparisons)]
            #[inline] fn absolute(self) -> Self { if self < 0 { self.wrapping_neg() } else { self } }
            #[allow(unused_comparisons)]
            #[inline] fn floor_div(self, o: Self) -> Self {
                let q = self.div(o);
                if self.truncate_mod(o) != 0 && ((self < 0) != (o < 0)) { q.wrapping_sub(1) } else { q }
            }
            #[allow(unused_comparisons)]
            #[inline] fn floor_mod(self, o: Self) -> Self {
                let r = self.truncate_mod(o);
                if r != 0 && ((r < 0) != (o < 0)) { r.wrapping_add(o) } else { r }
            }
            #[inline] fn truncate_mod(self, o: Self) -> Self { if o == 0 { 0 } else { self.wrapping_rem(o) } }
            #[inline] fn is_nan(self) -> bool { false }
            // Offset from the minimum of u64 or i64.
            #[inline] fn rank(self) -> u64 { (self as u64).wrapping_sub(if <$t>::MIN == 0 { 0 } else { i64::MIN as u64 }) }
            fn lowest() -> Self { <$t>::MIN }
            fn highest() -> Self { <$t>::MAX }
            fn least_finite() -> Self { <$t>::MIN }
            fn greatest_finite() -> Self { <$t>::MAX }
        }
        impl Integer for $t {
            #[inline] fn shifted_left(self, places: Self) -> Self { self << places.clamp(0, <$t>::BITS as $t - 1) }
            #[inline] fn shifted_right(self, places: Self) -> Self { self >> places.clamp(0, <$t>::BITS as $t - 1) }
            #[inline] fn bits_set(self) -> u32 { self.count_ones() }
        }
    )* };
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($t:ty, $wide:ty, $up:expr, $down:expr, $zero:expr, $one:expr;)*) => { $(
        impl Number for $t {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            #[inline] fn add(self, o: Self) -> Self { $down($up(self) + $up(o)) }
            #[inline] fn sub(self, o: Self) -> Self { $down($up(self) - $up(o)) }
            #[inline] fn mul(self, o: Self) -> Self { $down($up(self) * $up(o)) }
            #[inline] fn div(self, o: Self) -> Self { $down($up(self) / $up(o)) }
            #[inline] fn neg(self) -> Self { -self }
            #[inline] fn from_f64(v: f64) -> Self { $down(v as $wide) }
            #[inline] fn from_i64(v: i64) -> Self { $down(v as $wide) }
        }
        impl Real for $t {
            const IS_INTEGER: bool = false;
            #[inline] fn to_f64(self) -> f64 { $up(self) as f64 }
            #[inline] fn larger(self, o: Self) -> Self { if self > o || self.is_nan() { self } else { o } }
            #[inline] fn smaller(self, o: Self) -> Self { if self < o || self.is_nan() { self } else { o } }
            #[inline] fn absolute(self) -> Self { $down($up(self).abs()) }
            // The quotient is rounded to the type before it is rounded down, as in TensorFlow.
            #[inline] fn floor_div(self, o: Self) -> Self { $down($up($down($up(self) / $up(o))).down()) }
            #[inline] fn floor_mod(self, o: Self) -> Self {
                let (a, b) = ($up(self), $up(o));
                let r = a % b;
                $down(if r != 0.0 && ((r < 0.0) != (b < 0.0)) { r + b } else { r })
            }
            #[inline] fn truncate_mod(self, o: Self) -> Self { $down($up(self) % $up(o)) }
            #[inline] fn is_nan(self) -> bool { <$t>::is_nan(self) }
            #[inline] fn rank(self) -> u64 { rank_of_double(self.to_f64()) }
            fn lowest() -> Self { <$t>::NEG_INFINITY }
            fn highest() -> Self { <$t>::INFINITY }
            fn least_finite() -> Self { <$t>::MIN }
            fn greatest_finite() -> Self { <$t>::MAX }
        }
    )* };
}
fn same<T>(v: T) -> T {
    v
}
floats! {
    f32, f32, same, same, 0.0, 1.0;
    f64, f64, same, same, 0.0, 1.0;
    f16, f32, f16::to_f32, f16::from_f32, f16::ZERO, f16::ONE;
    bf16, f32, bf16::to_f32, bf16::from_f32, bf16::ZERO, bf16::ONE;
}

macro_rules! via_single {
    ($($t:ty),*) => { $(
        impl Float for $t {
            #[inline] fn via(self, single: fn(f32) -> f32, _: fn(f64) -> f64) -> Self { <$t>::from_f32(single(self.to_f32())) }
            #[inline] fn via2(self, o: Self, single: fn(f32, f32) -> f32, _: fn(f64, f64) -> f64) -> Self {
                <$t>::from_f32(single(self.to_f32(), o.to_f32()))
            }
        }
    )* };
}
via_single!(f16, bf16);

impl Float for f32 {
    #[inline]
    fn via(self, single: fn(f32) -> f32, _: fn(f64) -> f64) -> Self {
        single(self)
    }
    #[inline]
    fn via2(self, o: Self, single: fn(f32, f32) -> f32, _: fn(f64, f64) -> f64) -> Self {
        single(self, o)
    }
}

impl Float for f64 {
    #[inline]
    fn via(self, _: fn(f32) -> f32, double: fn(f64) -> f64) -> Self {
        double(self)
    }
    #[inline]
    fn via2(self, o: Self, _: fn(f32, f32) -> f32, double: fn(f64, f64) -> f64) -> Self {
        double(self, o)
    }
}

macro_rules! complexes {
    ($($t:ty, $real:ty;)*) => { $(
        impl Number for $t {
            const ZERO: Self = <$t>::new(0.0, 0.0);
            const ONE: Self = <$t>::new(1.0, 0.0);
            #[inline] fn add(self, o: Self) -> Self { self + o }
            #[inline] fn sub(self, o: Self) -> Self { self - o }
            #[inline] fn mul(self, o: Self) -> Self { self * o }
            #[inline] fn div(self, o: Self) -> Self { self / o }
            #[inline] fn neg(self) -> Self { -self }
            #[inline] fn from_f64(v: f64) -> Self { <$t>::new(v as $real, 0.0) }
            #[inline] fn from_i64(v: i64) -> Self { <$t>::new(v as $real, 0.0) }
        }
        impl ComplexNumber for $t {
            type Part = $real;
            #[inline] fn new(re: $real, im: $real) -> Self { <$t>::new(re, im) }
            #[inline] fn re(self) -> $real { self.re }
            #[inline] fn im(self) -> $real { self.im }
            #[inline] fn conjugate(self) -> Self { self.conj() }
            fn map(self, f: fn(ComplexDouble) -> ComplexDouble) -> Self {
                let z = f(ComplexDouble::new(self.re as f64, self.im as f64));
                <$t>::new(z.re as $real, z.im as $real)
            }
            fn map2(self, o: Self, f: fn(ComplexDouble, ComplexDouble) -> ComplexDouble) -> Self {
                let z = f(ComplexDouble::new(self.re as f64, self.im as f64), ComplexDouble::new(o.re as f64, o.im as f64));
                <$t>::new(z.re as $real, z.im as $real)
            }
        }
    )* };
}
complexes! { Complex32, f32; ComplexDouble, f64; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_rise_with_values() {
        fn check<T: Real>(values: &[T]) {
            assert!(values.windows(2).all(|w| w[0].rank() < w[1].rank()), "{values:?}");
        }
        check(&[i8::MIN, -1, 0, 1, i8::MAX]);
        check(&[i64::MIN, -1, 0, 1, i64::MAX]);
        check(&[0, 1, u64::MAX]);
        check(&[f64::NEG_INFINITY, f64::MIN, -5e-324, 0.0, 5e-324, f64::MAX, f64::INFINITY, -f64::NAN]);
        check(&[f32::NEG_INFINITY, -1.0, 0.0, 1e-45, 1.0, f32::INFINITY, f32::NAN]);
        assert_eq!((-0f32).rank(), 0f32.rank());
    }

    #[test]
    fn division_rounds_as_python_does() {
        assert_eq!((-7i32).floor_div(2), -4);
        assert_eq!((-7i32).floor_mod(2), 1);
        assert_eq!(7i32.floor_mod(-2), -1);
        assert_eq!(i32::MIN.floor_div(-1), i32::MIN);
        assert_eq!(5u8.floor_div(2), 2);
        assert_eq!((-7.5f32).floor_mod(2.0), 0.5);
        assert_eq!((-1f64).floor_div(0.0), f64::NEG_INFINITY);
    }

    #[test]
    fn a_quotient_of_small_floats_is_rounded_before_it_is_rounded_down() {
        // 1589.98 is 1590 in half precision.
        let (a, b) = (f16::from_f32(-4.223), f16::from_f32(-0.002_656));
        assert_eq!(a.floor_div(b).to_f32(), (a.to_f32() / b.to_f32()).round());
    }

    #[test]
    fn nan_wins_a_comparison() {
        assert!(Real::is_nan(f32::NAN.larger(1.0)) && Real::is_nan(1f32.larger(f32::NAN)));
        assert_eq!(3i8.larger(-3), 3);
    }
}
