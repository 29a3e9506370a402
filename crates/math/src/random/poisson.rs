//! The Poisson distribution.

use super::outputs::{Drawn, fill_each};
use super::philox::Philox;
use super::real::Real;
use crate::parallel::Parallel;

/// Fills `out`, of shape `[samples, rates]`, with counts at the given rates.
/// `round` converts a count to the output type; `highest` is its largest value.
pub fn poisson<R: Copy + Sync + Into<f64>, T: Send>(
    parallel: &dyn Parallel,
    stream: Philox,
    rates: &[R],
    highest: f64,
    round: impl Fn(f64) -> T + Sync,
    out: &mut [T],
) {
    fill_each(parallel, stream, rates, out, |rate, stream| {
        let rate: f64 = rate.into();
        let uniforms = Uniforms { stream, drawn: Drawn::new() };
        round(if rate < 10.0 {
            by_product(rate, highest, uniforms)
        } else {
            by_rejection(rate, highest, uniforms)
        })
    });
}

struct Uniforms {
    stream: Philox,
    drawn: Drawn,
}

impl Uniforms {
    fn next(&mut self) -> f64 {
        let stream = &mut self.stream;
        self.drawn.next(|| {
            let words = stream.next_block();
            [f64::uniform(&words[..2]), f64::uniform(&words[2..])]
        })
    }
}

/// Knuth's algorithm: intervals are exponentially distributed, so uniforms are
/// multiplied until the product falls below `exp(-rate)`.
fn by_product(rate: f64, highest: f64, mut uniforms: Uniforms) -> f64 {
    let end = (-rate).exp();
    let (mut product, mut count) = (1.0, 0.0);
    loop {
        product *= uniforms.next();
        if product <= end && count <= highest {
            return count;
        }
        count += 1.0;
    }
}

/// Hörmann's transformed rejection (PTRS, 1993). Names are the paper's.
fn by_rejection(rate: f64, highest: f64, mut uniforms: Uniforms) -> f64 {
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inv_alpha = 1.1239 + 1.1328 / (b - 3.4);
    loop {
        let u = uniforms.next() - 0.5;
        let v = uniforms.next();
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + rate + 0.43).floor();
        if k > highest {
            continue;
        }
        if us >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2.0) {
            return k;
        }
        if k < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        let density = -rate + k * rate.ln() - ln_factorial(k);
        if (v * inv_alpha / (a / (us * us) + b)).ln() <= density {
            return k;
        }
    }
}

fn ln_factorial(k: f64) -> f64 {
    if k < 20.0 {
        return (2..=k as u32).map(f64::from).product::<f64>().ln();
    }
    // Stirling's series; the next term is below 1e-13 here.
    let (x, y) = (1.0 / k, 1.0 / (k * k));
    let series = x * (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y * (1.0 / 1680.0 - y / 1188.0))));
    k * k.ln() - k + 0.5 * (std::f64::consts::TAU * k).ln() + series
}
