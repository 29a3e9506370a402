//! Bessel functions of f32 on slices: the Chebyshev series of `bessel`, without the terms that single precision does not show, as
//! polynomials in double precision. Conditions are selections of values, not branches.

use super::bessel::{I0E_FAR, I0E_NEAR, I1E_FAR, I1E_NEAR, K0_FAR, K0_NEAR, K1_FAR, K1_NEAR};
use crate::elementary::double::{log, poly};
use crate::elementary::scalar::exp_f64;
use crate::elementary::{functions, map};

pub fn i0(x: &[f32], y: &mut [f32]) {
    map::<I0>(x, y);
}

pub fn i1(x: &[f32], y: &mut [f32]) {
    map::<I1>(x, y);
}

pub fn i0e(x: &[f32], y: &mut [f32]) {
    map::<I0e>(x, y);
}

pub fn i1e(x: &[f32], y: &mut [f32]) {
    map::<I1e>(x, y);
}

pub fn k0(x: &[f32], y: &mut [f32]) {
    map::<K0>(x, y);
}

pub fn k1(x: &[f32], y: &mut [f32]) {
    map::<K1>(x, y);
}

pub fn k0e(x: &[f32], y: &mut [f32]) {
    map::<K0e>(x, y);
}

pub fn k1e(x: &[f32], y: &mut [f32]) {
    map::<K1e>(x, y);
}

functions! {
    I0 = i0_of::<FMA>;
    I1 = i1_of::<FMA>;
    I0e = i0e_of::<FMA>;
    I1e = i1e_of::<FMA>;
    K0 = k0_of::<FMA>;
    K1 = k1_of::<FMA>;
    K0e = k0e_of::<FMA>;
    K1e = k1e_of::<FMA>;
}

/// The first `N` terms of a Chebyshev series, whose coefficients are given from the highest order down to twice the constant, as the
/// coefficients of powers, the lowest first.
const fn powers<const N: usize>(series: &[f64]) -> [f64; N] {
    let mut sum = [0.0; N];
    // T(k - 1) and T(k).
    let (mut before, mut polynomial) = ([0.0; N], [0.0; N]);
    polynomial[0] = 1.0;
    let mut k = 0;
    while k < N {
        let coefficient = series[series.len() - 1 - k] * if k == 0 { 0.5 } else { 1.0 };
        let mut next = [0.0; N];
        let mut i = 0;
        while i < N {
            sum[i] += coefficient * polynomial[i];
            let raised = if i == 0 { 0.0 } else { polynomial[i - 1] };
            next[i] = if k == 0 { raised } else { 2.0 * raised - before[i] };
            i += 1;
        }
        (before, polynomial) = (polynomial, next);
        k += 1;
    }
    sum
}

/// exp(-y) i0(y), for y that are not negative.
#[inline(always)]
fn i0e_of_positive<const FMA: bool>(y: f64) -> f64 {
    const NEAR: [f64; 21] = powers(&I0E_NEAR);
    const FAR: [f64; 9] = powers(&I0E_FAR);
    let near = poly::<FMA, 21>(y * 0.25 - 1.0, &NEAR);
    let far = poly::<FMA, 9>(16.0 / y - 1.0, &FAR) / y.sqrt();
    if y <= 8.0 { near } else { far }
}

#[inline(always)]
fn i1e_of_positive<const FMA: bool>(y: f64) -> f64 {
    const NEAR: [f64; 21] = powers(&I1E_NEAR);
    const FAR: [f64; 9] = powers(&I1E_FAR);
    let near = poly::<FMA, 21>(y * 0.25 - 1.0, &NEAR) * y;
    let far = poly::<FMA, 9>(16.0 / y - 1.0, &FAR) / y.sqrt();
    if y <= 8.0 { near } else { far }
}

#[inline(always)]
fn i0e_of<const FMA: bool>(x: f32) -> f32 {
    i0e_of_positive::<FMA>(x.abs().into()) as f32
}

#[inline(always)]
fn i1e_of<const FMA: bool>(x: f32) -> f32 {
    (i1e_of_positive::<FMA>(x.abs().into()) as f32).copysign(x)
}

#[inline(always)]
fn i0_of<const FMA: bool>(x: f32) -> f32 {
    let y = f64::from(x.abs());
    (exp_f64::<FMA>(y) * i0e_of_positive::<FMA>(y)) as f32
}

#[inline(always)]
fn i1_of<const FMA: bool>(x: f32) -> f32 {
    let y = f64::from(x.abs());
    ((exp_f64::<FMA>(y) * i1e_of_positive::<FMA>(y)) as f32).copysign(x)
}

/// k0(x), and exp(x) k0(x).
#[inline(always)]
fn k0_both<const FMA: bool>(x: f32) -> (f32, f32) {
    const NEAR: [f64; 8] = powers(&K0_NEAR);
    const FAR: [f64; 14] = powers(&K0_FAR);
    let x = f64::from(x);
    let power = exp_f64::<FMA>(x);
    let logarithm = log::<FMA>(x * 0.5);
    let near = poly::<FMA, 8>(x * x * 0.5 - 1.0, &NEAR) - logarithm * power * i0e_of_positive::<FMA>(x);
    let far = poly::<FMA, 14>(4.0 / x - 1.0, &FAR) / x.sqrt();
    both(x, power, near, far)
}

#[inline(always)]
fn k1_both<const FMA: bool>(x: f32) -> (f32, f32) {
    const NEAR: [f64; 8] = powers(&K1_NEAR);
    const FAR: [f64; 14] = powers(&K1_FAR);
    let x = f64::from(x);
    let power = exp_f64::<FMA>(x);
    let logarithm = log::<FMA>(x * 0.5);
    let near = poly::<FMA, 8>(x * x * 0.5 - 1.0, &NEAR) / x + logarithm * power * i1e_of_positive::<FMA>(x);
    let far = poly::<FMA, 14>(4.0 / x - 1.0, &FAR) / x.sqrt();
    both(x, power, near, far)
}

/// A function of the second kind and the scaled one, from the former near 0 and the latter elsewhere.
#[inline(always)]
fn both(x: f64, power: f64, near: f64, far: f64) -> (f32, f32) {
    let (plain, scaled) = if x <= 2.0 { (near, near * power) } else { (far / power, far) };
    if x <= 0.0 { (f32::INFINITY, f32::INFINITY) } else { (plain as f32, scaled as f32) }
}

#[inline(always)]
fn k0_of<const FMA: bool>(x: f32) -> f32 {
    k0_both::<FMA>(x).0
}

#[inline(always)]
fn k0e_of<const FMA: bool>(x: f32) -> f32 {
    k0_both::<FMA>(x).1
}

#[inline(always)]
fn k1_of<const FMA: bool>(x: f32) -> f32 {
    k1_both::<FMA>(x).0
}

#[inline(always)]
fn k1e_of<const FMA: bool>(x: f32) -> f32 {
    k1_both::<FMA>(x).1
}

#[cfg(test)]
mod tests {
    use super::super::bessel;
    use super::*;

    #[test]
    fn slices_are_the_functions_of_numbers_rounded() {
        type Pair = (&'static str, fn(&[f32], &mut [f32]), fn(f32) -> f32, fn(f64) -> f64);
        let functions: [Pair; 8] = [
            ("i0", i0, i0_of::<false>, bessel::i0),
            ("i1", i1, i1_of::<false>, bessel::i1),
            ("i0e", i0e, i0e_of::<false>, bessel::i0e),
            ("i1e", i1e, i1e_of::<false>, bessel::i1e),
            ("k0", k0, k0_of::<false>, bessel::k0),
            ("k1", k1, k1_of::<false>, bessel::k1),
            ("k0e", k0e, k0e_of::<false>, bessel::k0e),
            ("k1e", k1e, k1e_of::<false>, bessel::k1e),
        ];
        let mut x: Vec<f32> = (0..=u32::MAX).step_by(400_009).map(f32::from_bits).collect();
        x.extend((-3000..9000).map(|n| n as f32 / 99.0));
        x.extend([0.0, -0.0, 2.0, 8.0, -8.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
        let mut y = vec![0.0; x.len()];
        for (name, slices, plain, exact) in functions {
            slices(&x, &mut y);
            for (x, y) in x.iter().zip(&y) {
                let exact = exact(f64::from(*x)) as f32;
                for y in [*y, plain(*x)] {
                    let near = (y - exact).abs() <= 2.0 * f32::EPSILON * exact.abs() + 3e-45 || y == exact;
                    assert!(near || (y.is_nan() && exact.is_nan()), "{name}({x}) = {y:e}, not {exact:e}");
                }
            }
        }
    }
}
