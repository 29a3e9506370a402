//! Reducers: sum, product, mean, max, min, all, any.

use half::{bf16, f16};
use num_complex::Complex;

/// A reduction. `combine` must be associative, up to rounding, and `init` its
/// identity element.
pub trait Reducer<T>: Sync {
    type Acc: Copy + Send + Sync;
    type Out: Copy + Send + Sync;

    /// Whether its loops are compiled for each instruction set.
    const WIDE: bool = true;

    fn init(&self) -> Self::Acc;
    fn step(&self, acc: Self::Acc, x: T) -> Self::Acc;
    fn combine(&self, a: Self::Acc, b: Self::Acc) -> Self::Acc;
    fn finish(&self, acc: Self::Acc) -> Self::Out;
}

/// An element type, with its accumulator type.
pub trait Element: Copy + Send + Sync {
    type Acc: Copy + Send + Sync;

    /// Whether loops over such elements are compiled for each instruction set.
    const WIDE: bool = false;

    fn widen(self) -> Self::Acc;
    fn narrow(acc: Self::Acc) -> Self;

    /// The slice itself, if elements are accumulated in their own type.
    fn as_acc(slice: &mut [Self]) -> Option<&mut [Self::Acc]> {
        let _ = slice;
        None
    }
}

/// Addition and multiplication. Integers wrap around.
pub trait Number: Copy + Send + Sync {
    const ZERO: Self;
    const ONE: Self;
    /// Whether loops over such numbers are compiled for each instruction set.
    const WIDE: bool = false;

    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div_count(self, count: usize) -> Self;
}

/// Maximum and minimum. Both propagate NaN.
pub trait Ordered: Copy + Send + Sync {
    const LOWEST: Self;
    const HIGHEST: Self;

    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
}

pub struct Sum;
pub struct Prod;
pub struct Max;
pub struct Min;
pub struct All;
pub struct Any;

/// The sum divided by a count, before it is rounded to the element type.
pub struct Mean {
    pub count: usize,
}

impl<T: Element<Acc: Number>> Reducer<T> for Sum {
    type Acc = T::Acc;
    type Out = T;
    const WIDE: bool = T::WIDE;

    #[inline(always)]
    fn init(&self) -> T::Acc {
        T::Acc::ZERO
    }

    #[inline(always)]
    fn step(&self, acc: T::Acc, x: T) -> T::Acc {
        acc.add(x.widen())
    }

    #[inline(always)]
    fn combine(&self, a: T::Acc, b: T::Acc) -> T::Acc {
        a.add(b)
    }

    #[inline(always)]
    fn finish(&self, acc: T::Acc) -> T {
        T::narrow(acc)
    }
}

impl<T: Element<Acc: Number>> Reducer<T> for Mean {
    type Acc = T::Acc;
    type Out = T;
    const WIDE: bool = T::WIDE;

    #[inline(always)]
    fn init(&self) -> T::Acc {
        T::Acc::ZERO
    }

    #[inline(always)]
    fn step(&self, acc: T::Acc, x: T) -> T::Acc {
        acc.add(x.widen())
    }

    #[inline(always)]
    fn combine(&self, a: T::Acc, b: T::Acc) -> T::Acc {
        a.add(b)
    }

    #[inline(always)]
    fn finish(&self, acc: T::Acc) -> T {
        T::narrow(acc.div_count(self.count))
    }
}

impl<T: Element<Acc: Number>> Reducer<T> for Prod {
    type Acc = T::Acc;
    type Out = T;
    const WIDE: bool = T::WIDE;

    #[inline(always)]
    fn init(&self) -> T::Acc {
        T::Acc::ONE
    }

    #[inline(always)]
    fn step(&self, acc: T::Acc, x: T) -> T::Acc {
        acc.mul(x.widen())
    }

    #[inline(always)]
    fn combine(&self, a: T::Acc, b: T::Acc) -> T::Acc {
        a.mul(b)
    }

    #[inline(always)]
    fn finish(&self, acc: T::Acc) -> T {
        T::narrow(acc)
    }
}

impl<T: Element<Acc: Ordered>> Reducer<T> for Max {
    type Acc = T::Acc;
    type Out = T;
    const WIDE: bool = T::WIDE;

    #[inline(always)]
    fn init(&self) -> T::Acc {
        T::Acc::LOWEST
    }

    #[inline(always)]
    fn step(&self, acc: T::Acc, x: T) -> T::Acc {
        acc.max(x.widen())
    }

    #[inline(always)]
    fn combine(&self, a: T::Acc, b: T::Acc) -> T::Acc {
        a.max(b)
    }

    #[inline(always)]
    fn finish(&self, acc: T::Acc) -> T {
        T::narrow(acc)
    }
}

impl<T: Element<Acc: Ordered>> Reducer<T> for Min {
    type Acc = T::Acc;
    type Out = T;
    const WIDE: bool = T::WIDE;

    #[inline(always)]
    fn init(&self) -> T::Acc {
        T::Acc::HIGHEST
    }

    #[inline(always)]
    fn step(&self, acc: T::Acc, x: T) -> T::Acc {
        acc.min(x.widen())
    }

    #[inline(always)]
    fn combine(&self, a: T::Acc, b: T::Acc) -> T::Acc {
        a.min(b)
    }

    #[inline(always)]
    fn finish(&self, acc: T::Acc) -> T {
        T::narrow(acc)
    }
}

// Accumulated as bytes: loops over bools are not vectorised.
impl Reducer<bool> for All {
    type Acc = u8;
    type Out = bool;

    #[inline(always)]
    fn init(&self) -> u8 {
        1
    }

    #[inline(always)]
    fn step(&self, acc: u8, x: bool) -> u8 {
        acc & x as u8
    }

    #[inline(always)]
    fn combine(&self, a: u8, b: u8) -> u8 {
        a & b
    }

    #[inline(always)]
    fn finish(&self, acc: u8) -> bool {
        acc != 0
    }
}

impl Reducer<bool> for Any {
    type Acc = u8;
    type Out = bool;

    #[inline(always)]
    fn init(&self) -> u8 {
        0
    }

    #[inline(always)]
    fn step(&self, acc: u8, x: bool) -> u8 {
        acc | x as u8
    }

    #[inline(always)]
    fn combine(&self, a: u8, b: u8) -> u8 {
        a | b
    }

    #[inline(always)]
    fn finish(&self, acc: u8) -> bool {
        acc != 0
    }
}

macro_rules! own_acc {
    ($wide:literal: $($t:ty)*) => {$(
        impl Element for $t {
            type Acc = $t;
            const WIDE: bool = $wide;

            #[inline(always)]
            fn widen(self) -> $t {
                self
            }

            #[inline(always)]
            fn narrow(acc: $t) -> $t {
                acc
            }

            #[inline(always)]
            fn as_acc(slice: &mut [$t]) -> Option<&mut [$t]> {
                Some(slice)
            }
        }
    )*};
}

own_acc!(true: f32 f64);
own_acc!(false: bool i8 i16 i32 i64 u8 u16 u32 u64 Complex<f32> Complex<f64>);

impl Element for f16 {
    type Acc = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        crate::half_bits::f16_to_f32(self)
    }

    #[inline(always)]
    fn narrow(acc: f32) -> f16 {
        crate::half_bits::f32_to_f16(acc)
    }
}

impl Element for bf16 {
    type Acc = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        crate::half_bits::bf16_to_f32(self)
    }

    #[inline(always)]
    fn narrow(acc: f32) -> bf16 {
        crate::half_bits::f32_to_bf16(acc)
    }
}

macro_rules! integer {
    ($($t:ty)*) => {$(
        impl Number for $t {
            const ZERO: $t = 0;
            const ONE: $t = 1;

            #[inline(always)]
            fn add(self, other: $t) -> $t {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn mul(self, other: $t) -> $t {
                self.wrapping_mul(other)
            }

            fn div_count(self, count: usize) -> $t {
                // A count out of range of the type is larger than any sum in it.
                <$t>::try_from(count).map_or(0, |count| self.checked_div(count).unwrap_or(0))
            }
        }

        impl Ordered for $t {
            const LOWEST: $t = <$t>::MIN;
            const HIGHEST: $t = <$t>::MAX;

            #[inline(always)]
            fn max(self, other: $t) -> $t {
                Ord::max(self, other)
            }

            #[inline(always)]
            fn min(self, other: $t) -> $t {
                Ord::min(self, other)
            }
        }
    )*};
}

integer!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! float {
    ($($t:ty)*) => {$(
        impl Number for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            const WIDE: bool = true;

            #[inline(always)]
            fn add(self, other: $t) -> $t {
                self + other
            }

            #[inline(always)]
            fn mul(self, other: $t) -> $t {
                self * other
            }

            fn div_count(self, count: usize) -> $t {
                self / count as $t
            }
        }

        impl Ordered for $t {
            const LOWEST: $t = <$t>::NEG_INFINITY;
            const HIGHEST: $t = <$t>::INFINITY;

            #[inline(always)]
            fn max(self, other: $t) -> $t {
                if self >= other || self.is_nan() { self } else { other }
            }

            #[inline(always)]
            fn min(self, other: $t) -> $t {
                if self <= other || self.is_nan() { self } else { other }
            }
        }

        impl Number for Complex<$t> {
            const ZERO: Self = Complex::new(0.0, 0.0);
            const ONE: Self = Complex::new(1.0, 0.0);

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }

            fn div_count(self, count: usize) -> Self {
                self / count as $t
            }
        }
    )*};
}

float!(f32 f64);
