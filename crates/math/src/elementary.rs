//! Elementary functions of f32 on slices.
//!
//! Within one or two units in the last place, with the special values of IEEE
//! 754: NaN, infinities, signed zeros and subnormal numbers. The loops have no
//! branches and no calls, so that the compiler vectorises them.

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

/// A function of one number, `#[inline(always)]` and free of branches.
trait Function {
    fn apply<const FMA: bool>(x: f32) -> f32;
}

struct Map<'a, F> {
    x: &'a [f32],
    y: &'a mut [f32],
    function: std::marker::PhantomData<F>,
}

fn map<F: Function>(x: &[f32], y: &mut [f32]) {
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

macro_rules! functions {
    ($($name:ident = $function:path;)*) => {$(
        struct $name;

        impl Function for $name {
            #[inline(always)]
            fn apply<const FMA: bool>(x: f32) -> f32 {
                $function(x)
            }
        }
    )*};
}

functions! {
    Exp = scalar::exp::<FMA>;
    ExpM1 = scalar::exp_m1::<FMA>;
    Ln1p = scalar::ln_1p::<FMA>;
    Log = scalar::log::<FMA>;
    Tanh = scalar::tanh::<FMA>;
    Sigmoid = scalar::sigmoid::<FMA>;
    Rsqrt = scalar::rsqrt;
    Erf = scalar::erf::<FMA>;
}
