//! Roots of unity.

use std::f64::consts::PI;

use crate::decompose::{ComplexScalar, RealScalar};
use crate::scratch;

/// Below this length every root is computed by itself.
const SHORT: usize = 256;

/// `exp(-2 pi i k / n)` for any `k` below `n`. Of many, each is the product of two of a table: sines are slow.
pub struct Roots {
    n: usize,
    /// The first roots.
    fine: Vec<[f64; 2]>,
    /// Every root whose index is a multiple of the number of the first.
    coarse: Vec<[f64; 2]>,
}

impl Roots {
    pub fn new(n: usize) -> Self {
        if n < SHORT {
            return Roots { n, fine: Vec::new(), coarse: Vec::new() };
        }
        let step = n.isqrt().next_power_of_two();
        let fine = scratch::collect((0..step).map(|k| exact(k, n)));
        let coarse = scratch::collect((0..n.div_ceil(step)).map(|k| exact(k * step, n)));
        Roots { n, fine, coarse }
    }

    pub fn get<R: RealScalar>(&self, k: usize) -> R::Complex {
        let [re, im] = if self.fine.is_empty() {
            exact(k, self.n)
        } else {
            // The number of the first is a power of two.
            let (low, high) = (self.fine[k & (self.fine.len() - 1)], self.coarse[k / self.fine.len()]);
            [high[0] * low[0] - high[1] * low[1], high[0] * low[1] + high[1] * low[0]]
        };
        R::Complex::new(R::from_f64(re), R::from_f64(im))
    }
}

/// Exact on the axes.
fn exact(k: usize, n: usize) -> [f64; 2] {
    match (k % n * 4).checked_div(n) {
        Some(quarters) if (k % n * 4).is_multiple_of(n) => {
            [[1.0, 0.0], [0.0, -1.0], [-1.0, 0.0], [0.0, 1.0]][quarters % 4]
        }
        _ => {
            let (sin, cos) = (2.0 * PI * (k % n) as f64 / n as f64).sin_cos();
            [cos, -sin]
        }
    }
}
