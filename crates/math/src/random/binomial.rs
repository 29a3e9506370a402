//! The binomial distribution.

use super::outputs::{Drawn, fill_by_number};
use super::philox::Philox;
use super::real::Real;
use super::state::BLOCKS_PER_OUTPUT;
use crate::parallel::Parallel;

/// A binomial distribution, prepared for sampling.
#[derive(Clone, Copy, Debug)]
pub enum Binomial {
    /// Always this number.
    Certain(f64),
    /// Of `count` trials with probability `p`, at most a half; `failures`: those that fail are counted.
    Trials { count: f64, p: f64, failures: bool, many: bool },
}

/// Blocks that a draw by inversion may use: ten standard deviations of at most ten successes.
const BLOCKS_BY_INVERSION: u64 = 42;

/// Fills `out`, of shape `[samples, distributions]`. `round` converts a count to the output type.
pub fn binomial<T: Send>(
    parallel: &dyn Parallel,
    stream: Philox,
    distributions: &[Binomial],
    round: impl Fn(f64) -> T + Sync,
    out: &mut [T],
) {
    fill_by_number(parallel, distributions, out, |distribution, output| {
        round(match distribution {
            Binomial::Certain(number) => number,
            Binomial::Trials { count, p, failures, many } => {
                let blocks = if many { BLOCKS_PER_OUTPUT } else { BLOCKS_BY_INVERSION };
                let stream = stream.skipped(output.wrapping_mul(blocks));
                let uniforms = Uniforms { stream, drawn: Drawn::new() };
                let drawn =
                    if many { by_rejection(count, p, uniforms) } else { by_inversion(count, p, uniforms) };
                if failures { count - drawn } else { drawn }
            }
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

/// How many waiting times, which are geometrically distributed, fit into the trials.
fn by_inversion(count: f64, p: f64, mut uniforms: Uniforms) -> f64 {
    let (mut waited, mut successes) = (0.0, 0.0);
    loop {
        waited += (uniforms.next().ln() / (-p).ln_1p()).ceil();
        if waited > count || waited.is_nan() {
            return successes;
        }
        successes += 1.0;
    }
}

/// Hörmann's transformed rejection (BTRS, 1993). Names are the paper's.
fn by_rejection(count: f64, p: f64, mut uniforms: Uniforms) -> f64 {
    let spq = (count * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * spq;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let c = count * p + 0.5;
    let v_r = 0.92 - 4.2 / b;
    let r = p / (1.0 - p);
    let alpha = (2.83 + 5.1 / b) * spq;
    let m = ((count + 1.0) * p).floor();
    loop {
        let u = uniforms.next() - 0.5;
        let v = uniforms.next();
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + c).floor();
        if us >= 0.07 && v <= v_r {
            return k;
        }
        if k < 0.0 || k > count {
            continue;
        }
        let v = (v * alpha / (a / (us * us) + b)).ln();
        let bound = (m + 0.5) * ((m + 1.0) / (r * (count - m + 1.0))).ln()
            + (count + 1.0) * ((count - m + 1.0) / (count - k + 1.0)).ln()
            + (k + 0.5) * (r * (count - k + 1.0) / (k + 1.0)).ln()
            + stirling_tail(m)
            + stirling_tail(count - m)
            - stirling_tail(k)
            - stirling_tail(count - k);
        if v <= bound {
            return k;
        }
    }
}

/// The difference of log(k!) and Stirling's formula.
fn stirling_tail(k: f64) -> f64 {
    const SMALL: [f64; 10] = [
        0.0810614667953272,
        0.0413406959554092,
        0.0276779256849983,
        0.02079067210376509,
        0.0166446911898211,
        0.0138761288230707,
        0.0118967099458917,
        0.0104112652619720,
        0.00925546218271273,
        0.00833056343336287,
    ];
    if k <= 9.0 {
        return SMALL[k as usize];
    }
    let square = (k + 1.0) * (k + 1.0);
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
}
