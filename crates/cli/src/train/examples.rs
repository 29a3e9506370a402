//! Examples in memory, in batches.

use super::program::Held;
use thalweg::prelude::*;

/// Feature rows with labels.
pub struct Examples {
    pub features: Vec<f32>,
    pub labels: Vec<i32>,
    pub width: usize,
}

impl Examples {
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// The rows with these indices, as a matrix and a vector of labels.
    pub fn rows(&self, rows: impl Iterator<Item = usize> + Clone) -> Result<Vec<Tensor>> {
        let mut features = Vec::with_capacity(rows.size_hint().0 * self.width);
        let mut labels = Vec::with_capacity(rows.size_hint().0);
        for row in rows {
            features.extend_from_slice(&self.features[row * self.width..(row + 1) * self.width]);
            labels.push(self.labels[row]);
        }
        let shape = Shape::new(&[labels.len(), self.width])?;
        Ok(vec![Tensor::from_slice(shape, &features)?, Tensor::vector(&labels)?])
    }

    /// All of them, in order.
    pub fn all(&self) -> Result<Vec<Tensor>> {
        self.rows(0..self.len())
    }

    /// A batch of validation: the rows in order, `size` at a time.
    pub fn held(&self, number: usize, size: usize) -> Result<Option<Held>> {
        let first = number.saturating_mul(size).min(self.len());
        let rows = first..first.saturating_add(size).min(self.len());
        if rows.is_empty() {
            return Ok(None);
        }
        Ok(Some(Held { examples: rows.len(), feeds: self.rows(rows)? }))
    }

    /// The batch of a step: every epoch shuffles all rows again.
    pub fn batch(&self, step: u64, size: usize, seed: i64) -> Result<Vec<Tensor>> {
        let n = self.len() as u64;
        let first = step.wrapping_mul(size as u64);
        let row = move |i: u64| {
            let at = first.wrapping_add(i);
            shuffled(at % n, n, (seed as u64) ^ (at / n).wrapping_mul(0x9E37_79B9_7F4A_7C15)) as usize
        };
        self.rows((0..size as u64).map(row))
    }
}

/// The position of `i` in a permutation of `0..n` chosen by the key, without storing the permutation: a Feistel network over the
/// smallest square that holds `n`, with cycle walking.
pub fn shuffled(i: u64, n: u64, key: u64) -> u64 {
    let side = (n as f64).sqrt().ceil().max(2.0) as u64;
    let mut at = i;
    loop {
        let (mut left, mut right) = (at / side, at % side);
        for round in 0..4 {
            let mixed = mix(right ^ key.wrapping_add(round));
            (left, right) = (right, (left + mixed % side) % side);
        }
        at = left * side + right;
        if at < n {
            return at;
        }
    }
}

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_epoch_sees_every_row_once_in_another_order() {
        for n in [1, 2, 3, 10, 120, 1000] {
            let order = |key| (0..n).map(|i| shuffled(i, n, key)).collect::<Vec<_>>();
            for key in [0, 1, 77] {
                let mut rows = order(key);
                rows.sort();
                assert_eq!(rows, (0..n).collect::<Vec<_>>());
            }
            assert!(n < 10 || order(1) != order(2));
        }
    }
}
