//! Examples in memory, in batches.

use super::program::Held;
use super::shuffled;
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
        self.rows(shuffled::batch(step, size, seed, self.len()).into_iter())
    }
}
