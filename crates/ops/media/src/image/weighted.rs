//! Resizing in two passes, by weighted sums along rows and columns; and its transpose, for gradients.

use crate::elementwise::for_chunks_of;
use crate::prelude::*;

/// For each output position, which inputs it is a sum of: `span` weights for `span` inputs.
pub struct Taps {
    pub span: usize,
    /// Input positions, `span` for each output.
    pub inputs: Vec<usize>,
    pub weights: Vec<f32>,
}

impl Taps {
    pub fn new(outputs: usize, span: usize) -> Result<Taps> {
        let many = outputs.saturating_mul(span);
        Ok(Taps { span, inputs: reserve::with_capacity(many)?, weights: reserve::with_capacity(many)? })
    }

    pub fn push(&mut self, input: usize, weight: f32) -> Result<()> {
        reserve::push(&mut self.inputs, input)?;
        reserve::push(&mut self.weights, weight)
    }

    /// Inputs and weights of output `i`.
    fn of(&self, i: usize) -> impl Iterator<Item = (usize, f32)> {
        let part = i * self.span..(i + 1) * self.span;
        self.inputs[part.clone()].iter().copied().zip(self.weights[part].iter().copied())
    }
}

/// Images of `dims` resized to `rows` and `cols` positions by `down` and `across`.
pub fn resize<T: Real>(
    c: &OpCall<'_>,
    x: &[T],
    [batch, height, width, depth]: [usize; 4],
    [rows, cols]: [usize; 2],
    [down, across]: [&Taps; 2],
) -> Result<Tensor> {
    let mut out = Tensor::uninit(DataType::Float, Shape::new(&[batch, rows, cols, depth])?)?;
    let line = width * depth;
    for_chunks_of(c.par(), out.as_mut_slice::<f32>()?, cols * depth, 4, &|range, out| {
        let mut sums = scratch::filled(line, 0f32);
        for (at, out) in range.zip(out.chunks_exact_mut((cols * depth).max(1))) {
            sums.fill(0.0);
            for (row, weight) in down.of(at % rows).filter(|(_, weight)| *weight != 0.0) {
                let from = &x[(at / rows * height + row) * line..][..line];
                sums.iter_mut().zip(from).for_each(|(sum, x)| *sum += weight * x.to_f64() as f32);
            }
            for (col, out) in out.chunks_exact_mut(depth.max(1)).enumerate() {
                out.fill(0.0);
                for (from, weight) in across.of(col).filter(|(_, weight)| *weight != 0.0) {
                    let from = &sums[from * depth..][..depth];
                    out.iter_mut().zip(from).for_each(|(out, x)| *out += weight * x);
                }
            }
        }
    });
    Ok(out)
}

/// The transpose of `resize`: gradients of shape [batch, rows, cols, depth] to those of images of `dims`.
pub fn spread<T: Float>(
    c: &OpCall<'_>,
    dy: &[f32],
    [batch, height, width, depth]: [usize; 4],
    [rows, cols]: [usize; 2],
    [down, across]: [&Taps; 2],
) -> Result<Tensor> {
    let mut out = Tensor::zeros(T::DTYPE, Shape::new(&[batch, height, width, depth])?)?;
    let line = width * depth;
    // An image at a time, so that the order of summation does not depend on the number of threads.
    for_chunks_of(c.par(), out.as_mut_slice::<T>()?, height * line, 1, &|images, out| {
        let mut sums = scratch::filled(line, 0f64);
        for (image, out) in images.zip(out.chunks_exact_mut((height * line).max(1))) {
            for row in 0..rows {
                sums.fill(0.0);
                for col in 0..cols {
                    let dy = &dy[((image * rows + row) * cols + col) * depth..][..depth];
                    for (to, weight) in across.of(col).filter(|(_, weight)| *weight != 0.0) {
                        let to = &mut sums[to * depth..][..depth];
                        to.iter_mut().zip(dy).for_each(|(to, dy)| *to += f64::from(weight) * f64::from(*dy));
                    }
                }
                for (to, weight) in down.of(row).filter(|(_, weight)| *weight != 0.0) {
                    let to = &mut out[to * line..][..line];
                    to.iter_mut()
                        .zip(&sums)
                        .for_each(|(to, sum)| *to = to.add(T::from_f64(f64::from(weight) * sum)));
                }
            }
        }
    });
    Ok(out)
}
