//! Elementary functions against f64, over all magnitudes.

use thalweg_math::elementary;

/// Distance in units in the last place of the exact value, rounded to f32.
fn ulps(actual: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if actual == rounded || actual.is_nan() && rounded.is_nan() {
        return 0.0;
    }
    let next = f32::from_bits(rounded.abs().to_bits() + 1) - rounded.abs();
    let ulp = if rounded.abs() == f32::INFINITY { f32::MAX / 16_777_216.0 } else { next };
    (f64::from(actual) - exact).abs() / f64::from(ulp)
}

/// Every 499th float, and some special ones.
fn floats() -> Vec<f32> {
    let mut floats: Vec<f32> = (0..u32::MAX / 499).map(|n| f32::from_bits(n * 499)).collect();
    floats.extend([0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN]);
    floats.extend([f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, 88.722_83, 88.722_84, -103.9, -87.4]);
    floats
}

fn check(name: &str, function: fn(&[f32], &mut [f32]), exact: fn(f64) -> f64, limit: f64) {
    let x = floats();
    let mut y = vec![0.0; x.len()];
    function(&x, &mut y);
    let (mut worst, mut at) = (0.0, 0.0);
    for (&x, &y) in x.iter().zip(&y) {
        let error = ulps(y, exact(x.into()));
        assert!(!error.is_nan(), "{name}({x:e}) = {y:e}");
        if error > worst {
            (worst, at) = (error, x);
        }
    }
    println!("{name}: {worst:.2} ulp at {at:e}");
    assert!(worst <= limit, "{name}: {worst} ulp at {at:e}");
}

#[test]
fn exp() {
    check("exp", elementary::exp, f64::exp, 1.2);
}

#[test]
fn exp_m1() {
    check("exp_m1", elementary::exp_m1, f64::exp_m1, 2.0);
}

#[test]
fn ln_1p() {
    check("ln_1p", elementary::ln_1p, f64::ln_1p, 2.0);
}

#[test]
fn log() {
    check("log", elementary::log, f64::ln, 1.2);
}

#[test]
fn tanh() {
    check("tanh", elementary::tanh, f64::tanh, 1.5);
}

#[test]
fn sigmoid() {
    check("sigmoid", elementary::sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 2.5);
}

#[test]
fn rsqrt() {
    check("rsqrt", elementary::rsqrt, |x| 1.0 / x.sqrt(), 1.5);
}

#[test]
fn erf() {
    check("erf", elementary::erf, exact_erf, 1.5);
}

/// By the power series, or the continued fraction of the complement.
fn exact_erf(x: f64) -> f64 {
    let two_over_sqrt_pi = std::f64::consts::FRAC_2_SQRT_PI;
    if x.is_nan() || x.abs() > 6.0 {
        return if x.is_nan() { x } else { x.signum() };
    }
    if x.abs() < 2.5 {
        let (mut term, mut sum) = (x, x);
        for n in 1..80 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return two_over_sqrt_pi * sum;
    }
    let fraction = (1..60).rev().fold(x.abs(), |rest, n| x.abs() + f64::from(n) / 2.0 / rest);
    (1.0 - (-x * x).exp() / fraction * two_over_sqrt_pi / 2.0).copysign(x)
}

#[test]
fn zeros_keep_their_sign() {
    for function in [elementary::tanh, elementary::erf] {
        let mut y = [1.0; 2];
        function(&[0.0, -0.0], &mut y);
        assert_eq!(y.map(f32::to_bits), [0.0f32, -0.0].map(f32::to_bits));
    }
}
