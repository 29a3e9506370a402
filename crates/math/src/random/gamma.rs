//! The gamma distribution, by Marsaglia and Tsang's rejection sampling (2000).

use super::outputs::{Drawn, fill_each};
use super::philox::Philox;
use super::real::Real;
use crate::parallel::Parallel;

/// Fills `out`, of shape `[samples, alphas]`. Computes in f64; `round` converts
/// the result to the output type.
pub fn gamma<A: Copy + Sync + Into<f64>, T: Send>(
    parallel: &dyn Parallel,
    stream: Philox,
    alphas: &[A],
    round: impl Fn(f64) -> T + Sync,
    out: &mut [T],
) {
    fill_each(parallel, stream, alphas, out, |alpha, mut stream| {
        let alpha: f64 = alpha.into();
        if alpha == 1.0 {
            // An exponential distribution.
            let [_, u] = uniforms(&mut stream);
            return round(-(-u).ln_1p());
        }
        round(draw(alpha, stream))
    });
}

fn draw(alpha: f64, mut stream: Philox) -> f64 {
    let boosted = alpha < 1.0;
    let d = alpha + if boosted { 2.0 / 3.0 } else { -1.0 / 3.0 };
    let c = 1.0 / 3.0 / d.sqrt();
    let (mut normal, mut uniform) = (Drawn::new(), Drawn::new());
    loop {
        let x = normal.next(|| normals(&mut stream));
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        let u = uniform.next(|| uniforms(&mut stream));
        // The squeeze test avoids nearly all of the logarithms.
        let squeezed = u < 1.0 - 0.0331 * (x * x) * (x * x);
        if !squeezed && u.ln() >= 0.5 * x * x + d * (1.0 - v + v.ln()) {
            continue;
        }
        if !boosted {
            return d * v;
        }
        let u = uniform.next(|| uniforms(&mut stream));
        return d * v * u.powf(1.0 / alpha);
    }
}

fn uniforms(stream: &mut Philox) -> [f64; 2] {
    let words = stream.next_block();
    [f64::uniform(&words[..2]), f64::uniform(&words[2..])]
}

fn normals(stream: &mut Philox) -> [f64; 2] {
    let mut pair = [0.0; 2];
    f64::normals(&stream.next_block(), &mut pair);
    pair
}
