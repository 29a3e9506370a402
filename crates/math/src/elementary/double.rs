//! Functions of f32 computed in f64: with half as many lanes, but without the care that the last bits take in single precision. Results
//! are exact to little more than half a unit in the last place. Conditions are selections of values, not branches.

use super::scalar::exp_f64;
use crate::rounding::Round;
use crate::simd::mul_add_f64;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4, LN_2, PI, SQRT_2};

/// The polynomial with these coefficients, the lowest power first.
#[inline(always)]
pub(crate) fn poly<const FMA: bool, const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    for n in (0..N - 1).rev() {
        sum = mul_add_f64::<FMA>(sum, x, coefficients[n]);
    }
    sum
}

/// 2 / (2k + 3): of the series of the logarithm.
const ODD_QUOTIENTS: [f64; 7] =
    [2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0, 2.0 / 11.0, 2.0 / 13.0, 2.0 / 15.0];

/// The natural logarithm of a number that is not subnormal, as no f32 is in f64.
#[inline(always)]
pub(crate) fn log<const FMA: bool>(x: f64) -> f64 {
    const HALF_ROOT: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const BIAS: u64 = 1024;
    let bits = x.to_bits();
    // The exponent that leaves a fraction between sqrt(1/2) and sqrt(2).
    let exponent = bits.wrapping_sub(HALF_ROOT).wrapping_add(BIAS << 52) >> 52;
    let f = f64::from_bits(bits.wrapping_sub(exponent.wrapping_sub(BIAS) << 52)) - 1.0;
    // 2^52 + exponent: a conversion that every instruction set has.
    let n = f64::from_bits(0x4330_0000_0000_0000 | exponent) - (4_503_599_627_370_496.0 + BIAS as f64);
    let s = f / (2.0 + f);
    let z = s * s;
    let fraction = mul_add_f64::<FMA>(s * z, poly::<FMA, 7>(z, &ODD_QUOTIENTS), 2.0 * s);
    let y = mul_add_f64::<FMA>(n, LN_2, fraction);
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    let y = if x == f64::INFINITY { x } else { y };
    // Also true of NaN.
    #[allow(clippy::neg_cmp_op_on_partial_ord)]
    if !(x >= 0.0) { f64::NAN } else { y }
}

/// Beyond this, the multiples of pi / 2 below are not exact.
pub(crate) const LARGEST_ANGLE: f32 = 1e6;

/// Sine and cosine of what is left of an angle below a multiple of pi / 2, and the multiple, of which only the last two bits count.
#[inline(always)]
fn reduced<const FMA: bool>(x: f32) -> (f64, f64, u64) {
    const ROUNDER: f64 = 6_755_399_441_055_744.0;
    /// pi / 2 in two parts, the first of 33 bits.
    const HIGH: f64 = 1.570_796_326_734_125_6;
    const LOW: f64 = 6.077_100_506_506_192e-11;
    let x = f64::from(x);
    let rounded = mul_add_f64::<FMA>(x, FRAC_2_PI, ROUNDER);
    let n = rounded - ROUNDER;
    let r = (x - n * HIGH) - n * LOW;
    let z = r * r;
    let sine =
        poly::<FMA, 5>(z, &[-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362_880.0, -1.0 / 39_916_800.0]);
    let cosine =
        poly::<FMA, 6>(z, &[1.0, -0.5, 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40_320.0, -1.0 / 3_628_800.0]);
    (mul_add_f64::<FMA>(r * z, sine, r), cosine, rounded.to_bits())
}

#[inline(always)]
pub(crate) fn sin<const FMA: bool>(x: f32) -> f32 {
    let (sine, cosine, n) = reduced::<FMA>(x);
    let y = if n & 1 == 0 { sine } else { cosine };
    let y = (if n & 2 == 0 { y } else { -y }) as f32;
    // Keeps the sign of zero.
    if x == 0.0 { x } else { y }
}

#[inline(always)]
pub(crate) fn cos<const FMA: bool>(x: f32) -> f32 {
    let (sine, cosine, n) = reduced::<FMA>(x);
    let y = if n & 1 == 0 { cosine } else { sine };
    // Negative in the second and third quadrants.
    (if n.wrapping_add(1) & 2 == 0 { y } else { -y }) as f32
}

#[inline(always)]
pub(crate) fn tan<const FMA: bool>(x: f32) -> f32 {
    let (sine, cosine, n) = reduced::<FMA>(x);
    let even = n & 1 == 0;
    let (above, below) = (if even { sine } else { -cosine }, if even { cosine } else { sine });
    let y = (above / below) as f32;
    if x == 0.0 { x } else { y }
}

/// The angle of the point (x, y), neither of which is negative.
#[inline(always)]
fn angle<const FMA: bool>(y: f64, x: f64) -> f64 {
    /// 1 / (2k + 3) with changing signs.
    const SERIES: [f64; 12] = {
        let (mut terms, mut k) = ([0.0; 12], 0);
        while k < 12 {
            terms[k] = if k % 2 == 0 { -1.0 } else { 1.0 } / (2 * k + 3) as f64;
            k += 1;
        }
        terms
    };
    // Turned by 0, pi / 4 or pi / 2, so that the slope is at most tan(pi / 8).
    let (is_small, is_middle) = (y <= (SQRT_2 - 1.0) * x, y < (SQRT_2 + 1.0) * x);
    let above = if is_middle { y - x } else { -x };
    let above = if is_small { y } else { above };
    let below = if is_middle { y + x } else { y };
    let below = if is_small { x } else { below };
    let turned = if is_middle { FRAC_PI_4 } else { FRAC_PI_2 };
    let turned = if is_small { 0.0 } else { turned };
    let t = above / below;
    let z = t * t;
    turned + mul_add_f64::<FMA>(t * z, poly::<FMA, 12>(z, &SERIES), t)
}

#[inline(always)]
pub(crate) fn atan<const FMA: bool>(x: f32) -> f32 {
    let y = (angle::<FMA>(f64::from(x.abs()), 1.0) as f32).copysign(x);
    if x == 0.0 { x } else { y }
}

#[inline(always)]
pub(crate) fn atan2<const FMA: bool>(y: f32, x: f32) -> f32 {
    let (height, width) = (f64::from(y.abs()), f64::from(x.abs()));
    // The origin, and points infinitely far in both directions, as their limits.
    let both_infinite = height == f64::INFINITY && width == f64::INFINITY;
    let (height, width) = (if both_infinite { 1.0 } else { height }, if both_infinite { 1.0 } else { width });
    let width = if height == 0.0 && width == 0.0 { 1.0 } else { width };
    let a = angle::<FMA>(height, width);
    (if x.is_sign_negative() { PI - a } else { a } as f32).copysign(y)
}

#[inline(always)]
pub(crate) fn asin<const FMA: bool>(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let y = (angle::<FMA>(a, ((1.0 - a) * (1.0 + a)).sqrt()) as f32).copysign(x);
    if x == 0.0 { x } else { y }
}

#[inline(always)]
pub(crate) fn acos<const FMA: bool>(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let of_positive = angle::<FMA>(((1.0 - a) * (1.0 + a)).sqrt(), a);
    (if x < 0.0 { PI - of_positive } else { of_positive }) as f32
}

/// Below this, three terms of the series are exact enough, and differences of exponentials or logarithms near 1 are not.
const SMALL: f64 = 1e-2;

#[inline(always)]
pub(crate) fn sinh<const FMA: bool>(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let power = exp_f64::<FMA>(a);
    let z = a * a;
    let small = a * poly::<FMA, 4>(z, &[1.0, 1.0 / 6.0, 1.0 / 120.0, 1.0 / 5040.0]);
    (if a < SMALL { small } else { 0.5 * (power - 1.0 / power) } as f32).copysign(x)
}

#[inline(always)]
pub(crate) fn cosh<const FMA: bool>(x: f32) -> f32 {
    let power = exp_f64::<FMA>(f64::from(x.abs()));
    (0.5 * (power + 1.0 / power)) as f32
}

#[inline(always)]
pub(crate) fn asinh<const FMA: bool>(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let z = a * a;
    let small = a * poly::<FMA, 4>(z, &[1.0, -1.0 / 6.0, 3.0 / 40.0, -15.0 / 336.0]);
    let large = log::<FMA>(a + (z + 1.0).sqrt());
    (if a < SMALL { small } else { large } as f32).copysign(x)
}

#[inline(always)]
pub(crate) fn acosh<const FMA: bool>(x: f32) -> f32 {
    let x = f64::from(x);
    let y = log::<FMA>(x + ((x - 1.0) * (x + 1.0)).sqrt());
    // Also true of NaN.
    #[allow(clippy::neg_cmp_op_on_partial_ord)]
    if !(x >= 1.0) { f32::NAN } else { y as f32 }
}

#[inline(always)]
pub(crate) fn atanh<const FMA: bool>(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let z = a * a;
    let small = a * poly::<FMA, 4>(z, &[1.0, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0]);
    let large = 0.5 * log::<FMA>((1.0 + a) / (1.0 - a));
    (if a < SMALL { small } else { large } as f32).copysign(x)
}

#[inline(always)]
pub(crate) fn pow<const FMA: bool>(x: f32, y: f32) -> f32 {
    let power = exp_f64::<FMA>(f64::from(y) * log::<FMA>(f64::from(x.abs()))) as f32;
    let power = if x.abs() == 1.0 { 1.0 } else { power };
    let (is_integer, half) = (y.nearest() == y, y * 0.5);
    let is_odd = is_integer && half.nearest() != half;
    let power = if x.is_sign_negative() && is_odd { -power } else { power };
    let has_value = is_integer || x >= 0.0 || x == f32::NEG_INFINITY;
    // Of NaN, too, the power 0 is 1, and so is every power of 1.
    let power = if has_value && !x.is_nan() && !y.is_nan() { power } else { f32::NAN };
    if y == 0.0 || x == 1.0 { 1.0 } else { power }
}

/// 1 - erf(x), exact where that is small: with t = 2 / (2 + |x|), the logarithm of erfc(|x|) / t, less -x², is smooth. The polynomial in
/// 2t - 1 is from `fit.py`.
#[inline(always)]
pub(crate) fn erfc<const FMA: bool>(x: f32) -> f32 {
    const LOGARITHM: [f64; 14] = [
        -0.67179408394732031,
        0.67264322319124242,
        0.047343291262382979,
        -0.046895563993076877,
        -0.0098723373020265829,
        0.0088241056782030737,
        0.0017561352038573484,
        -0.0023391751471799597,
        -0.00013722651198334986,
        0.00064766641680615111,
        -0.00010147728903798507,
        -0.00012509717493005536,
        5.5055083831176001e-5,
        -4.5154039831244676e-6,
    ];
    let wide = f64::from(x.abs());
    // Beyond, the result is 0 in single precision.
    let z = if wide > 10.2 { 10.2 } else { wide };
    let t = 2.0 / (2.0 + z);
    let exponent = mul_add_f64::<FMA>(-z, z, poly::<FMA, 14>(2.0 * t - 1.0, &LOGARITHM));
    let y = t * exp_f64::<FMA>(exponent);
    (if x < 0.0 { 2.0 - y } else { y }) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECIAL: [f32; 16] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -2.0,
        3.0,
        -3.0,
        1e-40,
        1e-20,
        -1e-3,
        1e20,
        f32::MAX,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];

    fn check(name: &str, x: (f32, f32), actual: f32, exact: f64) {
        let exact = exact as f32;
        let near = actual.to_bits().abs_diff(exact.to_bits()) <= 1;
        assert!(near || (actual.is_nan() && exact.is_nan()), "{name}({x:?}) = {actual:e}, not {exact:e}");
    }

    #[test]
    fn functions_of_one_number_are_exact_to_a_unit() {
        type Pair = (&'static str, fn(f32) -> f32, fn(f32) -> f32, fn(f64) -> f64);
        let functions: [Pair; 13] = [
            ("sin", sin::<true>, sin::<false>, f64::sin),
            ("cos", cos::<true>, cos::<false>, f64::cos),
            ("tan", tan::<true>, tan::<false>, f64::tan),
            ("asin", asin::<true>, asin::<false>, f64::asin),
            ("acos", acos::<true>, acos::<false>, f64::acos),
            ("atan", atan::<true>, atan::<false>, f64::atan),
            ("sinh", sinh::<true>, sinh::<false>, f64::sinh),
            ("cosh", cosh::<true>, cosh::<false>, f64::cosh),
            ("asinh", asinh::<true>, asinh::<false>, f64::asinh),
            ("acosh", acosh::<true>, acosh::<false>, f64::acosh),
            ("atanh", atanh::<true>, atanh::<false>, f64::atanh),
            ("erfc", erfc::<true>, erfc::<false>, libm::erfc),
            ("log", |x| log::<true>(x.into()) as f32, |x| log::<false>(x.into()) as f32, f64::ln),
        ];
        for (name, fused, plain, exact) in functions {
            let mut bits = (0..=u32::MAX).step_by(40_009).map(f32::from_bits).collect::<Vec<_>>();
            bits.extend((-2000..2000).map(|n| n as f32 / 999.0));
            bits.extend(SPECIAL);
            let is_angle = matches!(name, "sin" | "cos" | "tan");
            for x in bits {
                if is_angle && x.abs() > LARGEST_ANGLE {
                    continue;
                }
                // The standard library's loses digits where sinh is small, and asinh and acosh where they are large.
                let wide = f64::from(x);
                let exact = match name {
                    "asinh" if wide.abs() > 1e18 => (wide.abs().ln() + LN_2).copysign(wide),
                    "acosh" if wide > 1e18 => wide.ln() + LN_2,
                    _ => exact(wide),
                };
                check(name, (x, 0.0), fused(x), exact);
                check(name, (x, 0.0), plain(x), exact);
            }
        }
    }

    #[test]
    fn functions_of_two_numbers_are_exact_to_a_unit() {
        let mut numbers: Vec<f32> = (0..=u32::MAX).step_by(20_000_003).map(f32::from_bits).collect();
        numbers.extend((-60..60).map(|n| n as f32 / 7.0));
        numbers.extend(SPECIAL);
        for &x in &numbers {
            for &y in &numbers {
                let (wide_x, wide_y) = (f64::from(x), f64::from(y));
                check("atan2", (x, y), atan2::<true>(x, y), wide_x.atan2(wide_y));
                check("atan2", (x, y), atan2::<false>(x, y), wide_x.atan2(wide_y));
                check("pow", (x, y), pow::<true>(x, y), wide_x.powf(wide_y));
                check("pow", (x, y), pow::<false>(x, y), wide_x.powf(wide_y));
            }
        }
    }
}
