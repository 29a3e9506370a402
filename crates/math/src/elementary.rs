//! Elementary functions of f32 on slices.
//!
//! Within one or two units in the last place, with the special values of IEEE
//! 754: NaN, infinities, signed zeros and subnormal numbers. The loops have no
//! branches and no calls, so that the compiler vectorises them.

pub(crate) mod double;
pub(crate) mod scalar;

use crate::simd::{Loop, widest};

/// e to the power of x.
pub fn exp(x: &[f32], y: &mut [f32]) {
    map::<Exp>(x, y);
}

/// e to the power of x, less 1.
pub fn exp_m1(x: &[f32], y: &mut [f32]) {
    map::<ExpM1>(x, y);
}

/// Natural logarithm of 1 + x.
pub fn ln_1p(x: &[f32], y: &mut [f32]) {
    map::<Ln1p>(x, y);
}

/// Natural logarithm.
pub fn log(x: &[f32], y: &mut [f32]) {
    map::<Log>(x, y);
}

/// Hyperbolic tangent.
pub fn tanh(x: &[f32], y: &mut [f32]) {
    map::<Tanh>(x, y);
}

/// 1 / (1 + exp(-x)).
pub fn sigmoid(x: &[f32], y: &mut [f32]) {
    map::<Sigmoid>(x, y);
}

/// 1 / sqrt(x).
pub fn rsqrt(x: &[f32], y: &mut [f32]) {
    map::<Rsqrt>(x, y);
}

/// The error function.
pub fn erf(x: &[f32], y: &mut [f32]) {
    map::<Erf>(x, y);
}

/// Angles in radians. Beyond some 10^5 turns the multiples of pi / 2 take many more digits: such numbers are rare.
fn map_angles<F: Function>(x: &[f32], y: &mut [f32], exact: fn(f32) -> f32) {
    map::<F>(x, y);
    for (x, y) in x.iter().zip(y) {
        if x.abs() > double::LARGEST_ANGLE {
            *y = exact(*x);
        }
    }
}

pub fn sin(x: &[f32], y: &mut [f32]) {
    map_angles::<Sin>(x, y, f32::sin);
}

pub fn cos(x: &[f32], y: &mut [f32]) {
    map_angles::<Cos>(x, y, f32::cos);
}

pub fn tan(x: &[f32], y: &mut [f32]) {
    map_angles::<Tan>(x, y, f32::tan);
}

pub fn asin(x: &[f32], y: &mut [f32]) {
    map::<Asin>(x, y);
}

pub fn acos(x: &[f32], y: &mut [f32]) {
    map::<Acos>(x, y);
}

pub fn atan(x: &[f32], y: &mut [f32]) {
    map::<Atan>(x, y);
}

pub fn sinh(x: &[f32], y: &mut [f32]) {
    map::<Sinh>(x, y);
}

pub fn cosh(x: &[f32], y: &mut [f32]) {
    map::<Cosh>(x, y);
}

pub fn asinh(x: &[f32], y: &mut [f32]) {
    map::<Asinh>(x, y);
}

pub fn acosh(x: &[f32], y: &mut [f32]) {
    map::<Acosh>(x, y);
}

pub fn atanh(x: &[f32], y: &mut [f32]) {
    map::<Atanh>(x, y);
}

/// 1 - erf(x), exact where that is small.
pub fn erfc(x: &[f32], y: &mut [f32]) {
    map::<Erfc>(x, y);
}

/// log(1 + exp(x)).
pub fn softplus(x: &[f32], y: &mut [f32]) {
    map::<Softplus>(x, y);
}

/// x, but exp(x) - 1 where it is negative.
pub fn elu(x: &[f32], y: &mut [f32]) {
    map::<Elu>(x, y);
}

/// The angle of the point (x, y) from the x axis; `y` comes first.
pub fn atan2(y: &[f32], x: &[f32], z: &mut [f32]) {
    map2::<Atan2>(y, x, z);
}

/// x to the power of y.
pub fn pow(x: &[f32], y: &[f32], z: &mut [f32]) {
    map2::<Pow>(x, y, z);
}

/// x log(y), but 0 where x is 0.
pub fn xlogy(x: &[f32], y: &[f32], z: &mut [f32]) {
    map2::<Xlogy>(x, y, z);
}

/// x log(1 + y), but 0 where x is 0.
pub fn xlog1py(x: &[f32], y: &[f32], z: &mut [f32]) {
    map2::<Xlog1py>(x, y, z);
}

/// A function of one number, `#[inline(always)]` and free of branches.
pub(crate) trait Function {
    fn apply<const FMA: bool>(x: f32) -> f32;
}

struct Map<'a, F> {
    x: &'a [f32],
    y: &'a mut [f32],
    function: std::marker::PhantomData<F>,
}

pub(crate) fn map<F: Function>(x: &[f32], y: &mut [f32]) {
    assert_eq!(x.len(), y.len());
    widest(Map::<F> { x, y, function: std::marker::PhantomData });
}

impl<F: Function> Loop for Map<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (y, &x) in self.y.iter_mut().zip(self.x) {
            *y = F::apply::<FMA>(x);
        }
    }
}

/// A function of two numbers.
trait Function2 {
    fn apply<const FMA: bool>(x: f32, y: f32) -> f32;
}

struct Map2<'a, F> {
    x: &'a [f32],
    y: &'a [f32],
    z: &'a mut [f32],
    function: std::marker::PhantomData<F>,
}

fn map2<F: Function2>(x: &[f32], y: &[f32], z: &mut [f32]) {
    assert!(x.len() == z.len() && y.len() == z.len());
    widest(Map2::<F> { x, y, z, function: std::marker::PhantomData });
}

impl<F: Function2> Loop for Map2<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for ((z, &x), &y) in self.z.iter_mut().zip(self.x).zip(self.y) {
            *z = F::apply::<FMA>(x, y);
        }
    }
}

macro_rules! functions2 {
    ($($name:ident = $function:path;)*) => {$(
        struct $name;

        impl Function2 for $name {
            #[inline(always)]
            fn apply<const FMA: bool>(x: f32, y: f32) -> f32 {
                $function(x, y)
            }
        }
    )*};
}

functions2! {
    Atan2 = double::atan2::<FMA>;
    Pow = double::pow::<FMA>;
    Xlogy = scalar::xlogy::<FMA>;
    Xlog1py = scalar::xlog1py::<FMA>;
}

/// Types that stand for functions: `Exp = scalar::exp::<FMA>;`.
macro_rules! functions {
    ($($name:ident = $function:path;)*) => {$(
        struct $name;

        impl $crate::elementary::Function for $name {
            #[inline(always)]
            fn apply<const FMA: bool>(x: f32) -> f32 {
                $function(x)
            }
        }
    )*};
}
pub(crate) use functions;

functions! {
    Exp = scalar::exp::<FMA>;
    ExpM1 = scalar::exp_m1::<FMA>;
    Ln1p = scalar::ln_1p::<FMA>;
    Log = scalar::log::<FMA>;
    Tanh = scalar::tanh::<FMA>;
    Sigmoid = scalar::sigmoid::<FMA>;
    Rsqrt = scalar::rsqrt;
    Erf = scalar::erf::<FMA>;
    Softplus = scalar::softplus::<FMA>;
    Elu = scalar::elu::<FMA>;
    Erfc = double::erfc::<FMA>;
    Sin = double::sin::<FMA>;
    Cos = double::cos::<FMA>;
    Tan = double::tan::<FMA>;
    Asin = double::asin::<FMA>;
    Acos = double::acos::<FMA>;
    Atan = double::atan::<FMA>;
    Sinh = double::sinh::<FMA>;
    Cosh = double::cosh::<FMA>;
    Asinh = double::asinh::<FMA>;
    Acosh = double::acosh::<FMA>;
    Atanh = double::atanh::<FMA>;
}
