//! Images as a matrix of [pixels, channels].

use crate::prelude::*;
use thalweg_math::transpose::transpose_bytes;

/// The channel dimension, and the required rank.
#[derive(Clone, Copy)]
pub struct Channels {
    pub first: bool,
    pub rank: usize,
}

impl Channels {
    pub fn of(attrs: &Attrs) -> Result<Channels> {
        let format = attrs.str("data_format")?;
        Ok(Channels { first: format.starts_with("NC"), rank: format.len() })
    }

    pub fn axis(&self) -> usize {
        if self.first { 1 } else { self.rank - 1 }
    }

    /// The number of channels of images of this shape.
    pub fn count(&self, x: &Shape) -> Result<usize> {
        if x.rank() != self.rank {
            return Err(invalid!("x must be {}-dimensional, got shape {x}", self.rank));
        }
        x.dim(self.axis())
    }

    /// Transposes to channels last.
    pub fn to_last(self, c: &OpCall<'_>, x: &Tensor) -> Result<Tensor> {
        if !self.first || x.rank() != self.rank {
            return Ok(x.clone());
        }
        let order: Vec<usize> = std::iter::once(0).chain(2..self.rank).chain([1]).collect();
        reordered(c, x, &order)
    }

    /// The inverse of `to_last`.
    pub fn restored(self, c: &OpCall<'_>, x: Tensor) -> Result<Tensor> {
        if !self.first || x.rank() != self.rank {
            return Ok(x);
        }
        let order: Vec<usize> = [0, self.rank - 1].into_iter().chain(1..self.rank - 1).collect();
        reordered(c, &x, &order)
    }
}

fn reordered(c: &OpCall<'_>, x: &Tensor, order: &[usize]) -> Result<Tensor> {
    let dims: Vec<usize> = order.iter().map(|axis| x.shape()[*axis]).collect();
    let mut out = Tensor::uninit(x.dtype(), Shape::new(&dims)?)?;
    let size = x.byte_len().checked_div(x.elements()).unwrap_or(1);
    transpose_bytes(c.par(), size, x.shape(), order, x.bytes()?, out.bytes_mut()?);
    Ok(out)
}

/// Input `i`: one number per channel.
pub fn by_channel<'a>(c: &'a OpCall<'_>, i: usize, what: &str, channels: usize) -> Result<&'a [f32]> {
    let t = c.input(i)?;
    if t.shape().dims() != [channels] {
        return Err(invalid!(
            "{what} must have the same number of elements as the channels of x, got shape {} and {channels}",
            t.shape()
        ));
    }
    t.as_slice::<f32>()
}

/// Rounds to single precision.
pub fn single(values: &[f64]) -> Result<Vec<f32>> {
    reserve::collect(values.iter().map(|v| *v as f32))
}

/// 1 / sqrt(variance + epsilon).
pub fn inverse_deviation(variance: &[f32], epsilon: f32) -> Result<Vec<f64>> {
    reserve::collect(variance.iter().map(|v| 1.0 / (f64::from(*v) + f64::from(epsilon)).sqrt()))
}
