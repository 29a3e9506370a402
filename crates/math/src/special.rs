//! Special functions of real numbers.

mod bessel;
mod incomplete;
mod integrals;
mod normal;
mod series;
pub mod slices;

pub use bessel::{i0, i0e, i1, i1e, j0, j1, k0, k0e, k1, k1e, y0, y1};
pub use incomplete::{DOUBLE, SINGLE, betainc, gamma_sample_grad, igamma, igamma_grad_a, igammac};
pub use integrals::{dawson, expint, fresnel_cos, fresnel_sin, spence};
pub use normal::{erfinv, ndtri};

/// The logarithmic derivative of the gamma function. NaN at its poles, 0 and the negative integers.
pub fn digamma(x: f64) -> f64 {
    if x <= 0.0 {
        if x == x.floor() {
            return f64::NAN;
        }
        // Reflection: psi(1 - x) - psi(x) = pi cot(pi x).
        // Relative to the nearest integer: arguments just below 0 keep their precision.
        let fraction = x - x.round();
        return digamma(1.0 - x) - std::f64::consts::PI / (std::f64::consts::PI * fraction).tan();
    }
    // psi(x) = psi(x + 1) - 1 / x, up to where the series converges fast.
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += 1.0 / x;
        x += 1.0;
    }
    let z = 1.0 / (x * x);
    let series = z
        * (1.0 / 12.0
            - z * (1.0 / 120.0
                - z * (1.0 / 252.0
                    - z * (1.0 / 240.0 - z * (1.0 / 132.0 - z * (691.0 / 32760.0 - z / 12.0))))));
    x.ln() - 0.5 / x - series - below
}

/// The Hurwitz zeta function: the sum of (q + k)^-x over all k from 0, for x over 1.
pub fn zeta(x: f64, q: f64) -> f64 {
    // B(2j) / (2j)! of the Euler-Maclaurin series.
    const TAIL: [f64; 12] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30240.0,
        -1.0 / 1209600.0,
        1.0 / 47900160.0,
        -691.0 / 1307674368000.0,
        1.0 / 74724249600.0,
        -3617.0 / 10670622842880000.0,
        43867.0 / 5109094217170944000.0,
        -174611.0 / 802857662698291200000.0,
        77683.0 / 14101100039391805440000.0,
        -236364091.0 / 1693824136731743669452800000.0,
    ];
    if x == 1.0 {
        return f64::INFINITY;
    }
    if x < 1.0 || x.is_nan() || q.is_nan() {
        return f64::NAN;
    }
    if q <= 0.0 {
        // Poles at 0 and the negative integers; between them only integer exponents yield real powers.
        if q == q.floor() {
            return f64::INFINITY;
        }
        if x != x.floor() {
            return f64::NAN;
        }
    }
    let mut sum = 0.0;
    let mut a = q;
    let mut terms = 0;
    while terms < 10 || a <= 10.0 {
        sum += a.powf(-x);
        a += 1.0;
        terms += 1;
        if terms > 100_000 {
            return f64::NAN;
        }
    }
    let mut power = a.powf(-x);
    sum += power * a / (x - 1.0) + 0.5 * power;
    let mut factor = 1.0;
    let mut k = 0.0;
    for b in TAIL {
        factor *= x + k;
        power /= a;
        let term = b * factor * power;
        sum += term;
        if (term / sum).abs() < f64::EPSILON {
            break;
        }
        factor *= x + k + 1.0;
        power /= a;
        k += 2.0;
    }
    sum
}

/// The derivative of order `n` of `digamma`, for whole `n` from 0.
pub fn polygamma(n: f64, x: f64) -> f64 {
    if n == 0.0 {
        return digamma(x);
    }
    if n < 0.0 || n != n.floor() {
        return f64::NAN;
    }
    let factorial: f64 = (1..=n.min(200.0) as u32).map(f64::from).product();
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    sign * factorial * zeta(n + 1.0, x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12 * b.abs().max(1.0), "{a} is not {b}");
        close(digamma(1.0), -0.577_215_664_901_532_9);
        close(digamma(0.5), -1.963_510_026_021_422_7);
        close(digamma(-1.5), 0.703_156_640_645_243_4);
        close(digamma(20.5), 2.995_836_394_707_646_7);
        close(digamma(-1e-30), 1e30);
        assert!(digamma(-3.0).is_nan() && digamma(0.0).is_nan());
        close(zeta(2.0, 1.0), std::f64::consts::PI.powi(2) / 6.0);
        close(zeta(4.0, 1.0), std::f64::consts::PI.powi(4) / 90.0);
        close(zeta(1.5, 0.3), 8.237_761_671_459_724);
        close(zeta(3.0, -1.5), 0.118_102_025_820_864_13);
        close(polygamma(1.0, 1.0), std::f64::consts::PI.powi(2) / 6.0);
        close(polygamma(2.0, 1.0), -2.404_113_806_319_188_5);
    }
}
