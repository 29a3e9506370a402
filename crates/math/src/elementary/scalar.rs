//! The functions of one number. Conditions are selections of values, not
//! branches. Polynomials are from `fit.py`.

// The digits printed by `fit.py` round-trip, but are not the shortest.
#![allow(clippy::excessive_precision)]

use crate::simd::{mul_add, mul_add_f64};

/// ln 2 in two parts. The first has trailing zeros, so that its product with an
/// exponent is exact.
const LN2_HIGH: f32 = 0.693_359_375;
const LN2_LOW: f32 = -2.121_944_4e-4;

/// Added to a number, this leaves its nearest integer in the low bits.
const ROUNDER: f32 = 12_582_912.0;

#[inline(always)]
fn poly<const FMA: bool, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[N - 1];
    for n in (0..N - 1).rev() {
        sum = mul_add::<FMA>(sum, x, coefficients[n]);
    }
    sum
}

/// Clamps to `low..=high`; NaN stays NaN.
#[inline(always)]
fn clamp(x: f32, low: f32, high: f32) -> f32 {
    let x = if x < low { low } else { x };
    if x > high { high } else { x }
}

/// 2 to the power of `n`, for exponents of normal numbers.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

#[inline(always)]
pub(crate) fn exp<const FMA: bool>(x: f32) -> f32 {
    // Beyond these, the result is zero or infinite anyway.
    let x = clamp(x, -104.0, 89.0);
    let rounded = mul_add::<FMA>(x, std::f32::consts::LOG2_E, ROUNDER);
    let n = (rounded.to_bits() as i32).wrapping_sub(ROUNDER.to_bits() as i32);
    let n_float = rounded - ROUNDER;
    let r = mul_add::<FMA>(n_float, -LN2_LOW, mul_add::<FMA>(n_float, -LN2_HIGH, x));
    let rest = poly::<FMA, 5>(r, [0.49999994, 0.166665167, 0.0416682214, 0.00836926792, 0.0013826947]);
    let power = 1.0 + mul_add::<FMA>(r * r, rest, r);
    // In two steps, since 2^n itself may be too large or too small.
    let half = n >> 1;
    power * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// `exp(x) - 1`, exact near 0: with `exp(x) = 2^n (1 + p)`, it is `2^n p + (2^n - 1)`.
#[inline(always)]
pub(crate) fn exp_m1<const FMA: bool>(x: f32) -> f32 {
    let clamped = clamp(x, -20.0, 89.0);
    let rounded = mul_add::<FMA>(clamped, std::f32::consts::LOG2_E, ROUNDER);
    let n = (rounded.to_bits() as i32).wrapping_sub(ROUNDER.to_bits() as i32);
    let n_float = rounded - ROUNDER;
    let r = mul_add::<FMA>(n_float, -LN2_LOW, mul_add::<FMA>(n_float, -LN2_HIGH, clamped));
    let rest = poly::<FMA, 5>(r, [0.49999994, 0.166665167, 0.0416682214, 0.00836926792, 0.0013826947]);
    let p = mul_add::<FMA>(r * r, rest, r);
    // By half of 2^n, which itself may be too large.
    let half = power_of_two(n.wrapping_sub(1));
    let y = if n_float == 0.0 { p } else { 2.0 * mul_add::<FMA>(half, p, half - 0.5) };
    if x == 0.0 { x } else { y }
}

/// `log(1 + x)`, exact near 0: the logarithm of the rounded sum, and what rounding took off it.
#[inline(always)]
pub(crate) fn ln_1p<const FMA: bool>(x: f32) -> f32 {
    let sum = 1.0 + x;
    let lost = (x - (sum - 1.0)) / sum;
    let y = log::<FMA>(sum);
    let y = if sum > 0.0 && sum < f32::INFINITY { y + lost } else { y };
    if x == 0.0 { x } else { y }
}

/// As [`exp`], for f64.
#[inline(always)]
pub(crate) fn exp_f64<const FMA: bool>(x: f64) -> f64 {
    const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    let x = if x < -746.0 { -746.0 } else { x };
    let x = if x > 710.0 { 710.0 } else { x };
    let rounded = mul_add_f64::<FMA>(x, std::f64::consts::LOG2_E, ROUNDER);
    let n = (rounded.to_bits() as i64).wrapping_sub(ROUNDER.to_bits() as i64);
    let n_float = rounded - ROUNDER;
    let r = mul_add_f64::<FMA>(n_float, -LN2_LOW, mul_add_f64::<FMA>(n_float, -LN2_HIGH, x));
    // Taylor's series: the fourteenth term is below half a unit in the last place.
    let mut rest = INVERSE_FACTORIALS[11];
    for term in INVERSE_FACTORIALS[..11].iter().rev() {
        rest = mul_add_f64::<FMA>(rest, r, *term);
    }
    let power = 1.0 + mul_add_f64::<FMA>(r * r, rest, r);
    let half = n >> 1;
    let power_of_two = |n: i64| f64::from_bits((n.wrapping_add(1023) as u64) << 52);
    power * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// 1/2!, 1/3! and so on.
const INVERSE_FACTORIALS: [f64; 12] = {
    let (mut terms, mut factorial, mut n) = ([0.0; 12], 1.0, 0);
    while n < 12 {
        factorial *= (n + 2) as f64;
        terms[n] = 1.0 / factorial;
        n += 1;
    }
    terms
};

#[inline(always)]
pub(crate) fn log<const FMA: bool>(x: f32) -> f32 {
    let subnormal = x < f32::MIN_POSITIVE;
    let bits = if subnormal { x * 8_388_608.0 } else { x }.to_bits() as i32;
    // The exponent that leaves a fraction between sqrt(1/2) and sqrt(2).
    let exponent = bits.wrapping_sub(std::f32::consts::FRAC_1_SQRT_2.to_bits() as i32) >> 23;
    let f = f32::from_bits(bits.wrapping_sub(exponent << 23) as u32) - 1.0;
    let n = (exponent - if subnormal { 23 } else { 0 }) as f32;
    let rest = poly::<FMA, 9>(
        f,
        [
            0.333333164,
            -0.250001788,
            0.200020596,
            -0.166582465,
            0.142115995,
            -0.125742093,
            0.121139362,
            -0.107961737,
            0.0524411164,
        ],
    );
    let square = f * f;
    let low = mul_add::<FMA>(n, LN2_LOW, mul_add::<FMA>(square * f, rest, -0.5 * square));
    let result = mul_add::<FMA>(n, LN2_HIGH, f + low);
    let result = if x == 0.0 { f32::NEG_INFINITY } else { result };
    let result = if x == f32::INFINITY { x } else { result };
    // Also true of NaN.
    #[allow(clippy::neg_cmp_op_on_partial_ord)]
    if !(x >= 0.0) { f32::NAN } else { result }
}

#[inline(always)]
pub(crate) fn tanh<const FMA: bool>(x: f32) -> f32 {
    let z = x * x;
    let rest = poly::<FMA, 5>(z, [-0.333332926, 0.133316666, -0.0537553392, 0.020683419, -0.005749234]);
    let small = mul_add::<FMA>(x * z, rest, x);
    // From 9.1 on the result is one.
    let large = 1.0 - 2.0 / (exp::<FMA>(2.0 * clamp(x.abs(), 0.0, 10.0)) + 1.0);
    if x.abs() < 0.625 { small } else { large }.copysign(x)
}

#[inline(always)]
pub(crate) fn sigmoid<const FMA: bool>(x: f32) -> f32 {
    // The form that cannot overflow.
    let power = exp::<FMA>(-x.abs());
    let above = 1.0 / (1.0 + power);
    if x < 0.0 { power / (1.0 + power) } else { above }
}

#[inline(always)]
pub(crate) fn rsqrt(x: f32) -> f32 {
    1.0 / x.sqrt()
}

#[inline(always)]
pub(crate) fn erf<const FMA: bool>(x: f32) -> f32 {
    let z = x * x;
    let rest = poly::<FMA, 7>(
        z,
        [0.128379166, -0.37612626, 0.112835787, -0.0268533472, 0.0051871622, -0.00079978531, 7.80690389e-5],
    );
    let small = mul_add::<FMA>(x, rest, x);
    // Above one, minus the logarithm of 1 - erf is nearly a parabola.
    let t = clamp(x.abs(), 1.0, 4.0);
    let exponent = poly::<FMA, 9>(
        t,
        [
            -0.000306092523,
            1.13017201,
            0.631940067,
            0.109962903,
            -0.0263482854,
            0.00473155407,
            -0.000590277836,
            4.52172244e-5,
            -1.59115257e-6,
        ],
    );
    let large = 1.0 - exp::<FMA>(-exponent);
    if x.abs() < 1.0 { small } else { large.copysign(x) }
}

#[inline(always)]
pub(crate) fn softplus<const FMA: bool>(x: f32) -> f32 {
    let near = ln_1p::<FMA>(exp::<FMA>(-x.abs()));
    let y = if x > 0.0 { x } else { 0.0 } + near;
    if x.is_nan() { x } else { y }
}

#[inline(always)]
pub(crate) fn elu<const FMA: bool>(x: f32) -> f32 {
    if x < 0.0 { exp_m1::<FMA>(x) } else { x }
}

#[inline(always)]
pub(crate) fn xlogy<const FMA: bool>(x: f32, y: f32) -> f32 {
    if x == 0.0 { x } else { x * log::<FMA>(y) }
}

#[inline(always)]
pub(crate) fn xlog1py<const FMA: bool>(x: f32, y: f32) -> f32 {
    if x == 0.0 { x } else { x * ln_1p::<FMA>(y) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slice functions use fused multiply-adds where the machine has them.
    #[test]
    fn without_fused_multiply_add() {
        type Pair = (fn(f32) -> f32, fn(f64) -> f64);
        let functions: [Pair; 4] = [
            (exp::<false>, f64::exp),
            (|x| log::<false>(x.abs()), |x| x.abs().ln()),
            (tanh::<false>, f64::tanh),
            (sigmoid::<false>, |x| 1.0 / (1.0 + (-x).exp())),
        ];
        for (index, (function, exact)) in functions.into_iter().enumerate() {
            for n in -80_000..80_000 {
                let x = n as f32 / 1000.0 + 0.000_1;
                let (actual, exact) = (f64::from(function(x)), exact(x.into()));
                assert!((actual - exact).abs() <= 3.0e-7 * exact.abs(), "{index}: {x} {actual} {exact}");
            }
        }
        assert!(erf::<false>(0.5) - 0.520_499_9 < 1e-6);
    }

    #[test]
    fn exp_f64_is_exact_to_two_units() {
        for n in -75_000..71_100 {
            let x = f64::from(n) / 100.0 + 0.001_234;
            let (actual, exact) = (exp_f64::<true>(x), x.exp());
            let distance = actual.to_bits().abs_diff(exact.to_bits());
            assert!(distance <= 2, "exp({x}) = {actual:e}, not {exact:e}");
        }
        assert!(exp_f64::<true>(f64::NAN).is_nan());
        assert_eq!(exp_f64::<true>(f64::INFINITY), f64::INFINITY);
        assert_eq!(exp_f64::<true>(f64::NEG_INFINITY), 0.0);
    }
}
