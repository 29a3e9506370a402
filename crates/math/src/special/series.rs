//! Polynomials and Chebyshev series.

/// The polynomial with these coefficients, the highest power first.
pub fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().fold(0.0, |sum, c| sum * x + c)
}

/// The quotient of two polynomials.
pub fn rational(x: f64, above: &[f64], below: &[f64]) -> f64 {
    polynomial(x, above) / polynomial(x, below)
}

/// A Chebyshev series at x / 2 by Clenshaw's recurrence: the highest order first, the constant term halved.
pub fn chebyshev(x: f64, coefficients: &[f64]) -> f64 {
    let (mut b0, mut b1, mut b2) = (0.0, 0.0, 0.0);
    for c in coefficients {
        (b2, b1) = (b1, b0);
        b0 = x * b1 - b2 + c;
    }
    0.5 * (b0 - b2)
}
