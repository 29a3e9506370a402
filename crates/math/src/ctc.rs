//! Connectionist temporal classification (Graves, 2006): loss with gradient, and decoding by beam search. One sequence at a time,
//! in double precision.

mod beam;
mod loss;

pub use beam::Beam;
pub use loss::{Loss, loss};

/// log(exp(a) + exp(b)).
fn log_add(a: f64, b: f64) -> f64 {
    if a == f64::NEG_INFINITY {
        return b;
    }
    if b == f64::NEG_INFINITY {
        return a;
    }
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    high + (low - high).exp().ln_1p()
}

/// The logarithm of the sum of exponentials: what takes logits to log probabilities.
fn log_norm(logits: &[f64]) -> f64 {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + logits.iter().map(|x| (x - top).exp()).sum::<f64>().ln()
}
