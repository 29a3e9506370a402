//! What oneDNN's fused ops make of sums of products of 8-bit integers: floats by the scales of both factors, bias, ReLU, and the
//! levels of the result, in this order. Here 0 stands for 0: the range that counts is the one around it that has both bounds.

use crate::elementwise::for_chunks_of;
use crate::levels::{bound, bounds, integers, limits, quantised};
use crate::prelude::*;
use thalweg_math::rounding::Round;

/// Which inputs and steps an op has; their names say it.
#[derive(Clone, Copy)]
pub struct Form {
    pub bias: bool,
    relu: bool,
    /// Has the range of the result as its last two inputs.
    frozen: bool,
}

impl Form {
    pub fn of(op: &str) -> Form {
        let has = |part: &str| op.contains(part);
        Form { bias: has("WithBias"), relu: has("Relu"), frozen: has("Requantize") || has("Dequantize") }
    }

    /// The first of the four bounds of the factors.
    fn bounds_at(&self) -> usize {
        2 + usize::from(self.bias)
    }
}

/// The scale of the first factor, and the range by which a bias of integers was scaled.
struct Source {
    scale: f32,
    reach: f32,
    /// Quantised from its least number on, not around 0.
    min_first: bool,
}

fn reach((low, high): (f32, f32)) -> f32 {
    low.abs().max(high.abs())
}

impl Form {
    /// The source of a convolution: the level 0 is 0.
    fn around_zero(&self, c: &OpCall<'_>) -> Result<Source> {
        let reach = reach(bounds(c, self.bounds_at())?);
        Ok(Source { scale: reach / limits(c.input(0)?.dtype())?.1 as f32, reach, min_first: false })
    }

    /// The scales of the second factor, one or one for each channel, and the ranges that its integers reach.
    fn weights(&self, c: &OpCall<'_>, channels: usize) -> Result<(Vec<f32>, Vec<f32>)> {
        let at = self.bounds_at() + 2;
        let (low, high) = (c.input(at)?, c.input(at + 1)?);
        for (i, t) in [(at, low), (at + 1, high)] {
            if t.rank() > 1 || t.elements() != low.elements() || (t.rank() == 1 && t.elements() != channels) {
                return Err(invalid!(
                    "{} must be a scalar or have a number for each of {channels} channels, got shape {}",
                    c.input_name(i),
                    t.shape()
                ));
            }
        }
        let pairs = low.as_slice::<f32>()?.iter().copied().zip(high.as_slice::<f32>()?.iter().copied());
        let reaches = reserve::collect(pairs.map(reach))?;
        Ok((reserve::collect(reaches.iter().map(|reach| reach / 127.0))?, reaches))
    }

    /// The bias of each channel in floats. Integers are those that the sums would have.
    fn bias(
        &self,
        c: &OpCall<'_>,
        source: &Source,
        reaches: &[f32],
        channels: usize,
    ) -> Result<Option<Vec<f32>>> {
        if !self.bias {
            return Ok(None);
        }
        let bias = c.input(2)?;
        if bias.rank() != 1 || bias.elements() != channels {
            return Err(invalid!(
                "bias must have a number for each of {channels} channels, got {}",
                bias.shape()
            ));
        }
        if bias.dtype() == DataType::Float {
            return reserve::copied(bias.as_slice::<f32>()?).map(Some);
        }
        let levels = f64::from(limits(c.input(0)?.dtype())?.1 as i32) * 127.0;
        let bias = integers(bias)?;
        let each = bias.as_slice::<i32>()?.iter().zip(reaches.iter().cycle());
        let float = |(bias, reach): (&i32, &f32)| {
            let per_level = (levels / f64::from(source.reach * reach)) as f32;
            // TensorFlow divides in one case, oneDNN multiplies in the other.
            if source.min_first { *bias as f32 / per_level } else { *bias as f32 * (1.0 / per_level) }
        };
        reserve::collect(each.map(float)).map(Some)
    }

    /// Sets the outputs of a convolution, given the sums of products, whose last dimension is that of the channels.
    pub fn finish_convolution(&self, c: &mut OpCall<'_>, sums: Tensor) -> Result<()> {
        let channels = sums.shape().last().copied().unwrap_or(1);
        let source = self.around_zero(c)?;
        let (weights, reaches) = self.weights(c, channels)?;
        let bias = self.bias(c, &source, &reaches, channels)?;
        let out = self.finished(c, &sums, &source, &weights, bias.as_deref())?;
        c.set(0, out);
        self.set_range(c, &weights)
    }

    /// Sets the outputs of a product of matrices, whose left one is quantised around 0 or from its least number on.
    pub fn finish_product(&self, c: &mut OpCall<'_>, sums: Tensor, min_first: bool) -> Result<()> {
        for i in 3..c.inputs.len() {
            bound(c, i)?;
        }
        let channels = sums.shape().last().copied().unwrap_or(1);
        let (low, high) = bounds(c, 3)?;
        let (range, reach) = if min_first { (high - low, high - low) } else { (reach((low, high)), high) };
        let source = Source { scale: range / 255.0, reach, min_first };
        let (weights, reaches) = self.weights(c, channels)?;
        let mut bias = self.bias(c, &source, &reaches, channels)?;
        if let Some(bias) = &mut bias
            && min_first
            && c.input(2)?.dtype() == DataType::Float
        {
            // TensorFlow 2.21 adds the levels below 0 times the weights, without their scale.
            let below = 255.0 * low / (high - low);
            bias.iter_mut()
                .zip(column_sums(c.input(1)?)?)
                .for_each(|(bias, sum)| *bias += sum as f32 * below);
        }
        let out = self.finished(c, &sums, &source, &weights, bias.as_deref())?;
        c.set(0, out);
        if c.output_type(0)? == DataType::Float {
            return Ok(());
        }
        self.set_range(c, &weights)
    }

    /// The result of the sums, in the output's type.
    fn finished(
        &self,
        c: &OpCall<'_>,
        sums: &Tensor,
        source: &Source,
        weights: &[f32],
        bias: Option<&[f32]>,
    ) -> Result<Tensor> {
        let (dtype, channels) = (c.output_type(0)?, sums.shape().last().copied().unwrap_or(1).max(1));
        let scales = reserve::collect(weights.iter().cycle().take(channels).map(|w| source.scale * w))?;
        let float = |sum: i32, channel: usize| {
            let x = sum as f32 * scales[channel];
            let x = bias.map_or(x, |bias| x + bias[channel]);
            if self.relu { x.max(0.0) } else { x }
        };
        let x = sums.as_slice::<i32>()?;
        let each = |out: &mut [i32], level: &(dyn Fn(i32, usize) -> i32 + Sync)| {
            for_chunks_of(c.par(), out, channels, (1 << 14) / channels + 1, &|rows, out| {
                let x = &x[rows.start * channels..];
                for (x, out) in x.chunks_exact(channels).zip(out.chunks_exact_mut(channels)) {
                    x.iter().zip(out).enumerate().for_each(|(i, (x, out))| *out = level(*x, i));
                }
            });
        };
        if dtype == DataType::Float {
            let mut out = Tensor::uninit(dtype, sums.shape().clone())?;
            let floats = out.as_mut_slice::<f32>()?.chunks_exact_mut(channels).zip(x.chunks_exact(channels));
            for (out, x) in floats {
                out.iter_mut().zip(x).enumerate().for_each(|(i, (out, x))| *out = float(*x, i));
            }
            return Ok(out);
        }
        let mut out = Tensor::uninit(DataType::Int32, sums.shape().clone())?;
        let (least, most) = limits(dtype)?;
        if !self.frozen && bias.is_none() && weights.len() == 1 {
            let least = if self.relu { 0 } else { i32::MIN };
            each(out.as_mut_slice::<i32>()?, &|x, _| x.max(least));
            return quantised(out, dtype);
        }
        let step = match self.frozen {
            true => reach(bounds(c, self.bounds_at() + 4)?) / most as f32,
            // oneDNN has one scale for sums, also of channels that have their own: the largest.
            false => source.scale * weights.iter().copied().fold(0.0, f32::max),
        };
        let (per_step, least, most) = (1.0 / step, least as f32, (most as f32).min(2147483520.0));
        each(out.as_mut_slice::<i32>()?, &|x, channel| {
            (float(x, channel) * per_step).nearest().clamp(least, most) as i32
        });
        quantised(out, dtype)
    }

    /// Sets outputs 1 and 2: the range asked for, or that of 32-bit integers, for each channel if the weights have ranges for each.
    fn set_range(&self, c: &mut OpCall<'_>, weights: &[f32]) -> Result<()> {
        let at = self.bounds_at();
        if self.frozen {
            let (low, high) = bounds(c, at + 4)?;
            c.set(1, Tensor::scalar(low));
            c.set(2, Tensor::scalar(high));
            return Ok(());
        }
        let (low, high) = bounds(c, at)?;
        let (least, most) = limits(c.input(0)?.dtype())?;
        let level = (high - low) / (most - least.max(-most)) as f32;
        let (low, high) = (c.input(at + 2)?, c.input(at + 3)?);
        let shape = if low.rank() == 0 { Shape::scalar() } else { Shape::vector(weights.len()) };
        let pairs = low.as_slice::<f32>()?.iter().zip(high.as_slice::<f32>()?);
        let far =
            reserve::collect(pairs.map(|(low, high)| level * ((high - low) / 254.0) * i32::MAX as f32))?;
        let near = reserve::collect(far.iter().map(|far| -far))?;
        c.set(1, Tensor::from_slice(shape.clone(), &near)?);
        c.set(2, Tensor::from_slice(shape, &far)?);
        Ok(())
    }
}

/// The sums of a matrix's columns.
fn column_sums(matrix: &Tensor) -> Result<Vec<i32>> {
    let columns = matrix.shape().last().copied().unwrap_or(0);
    let mut sums = reserve::filled(columns, 0i32)?;
    for row in integers(matrix)?.as_slice::<i32>()?.chunks_exact(columns.max(1)) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum = sum.wrapping_add(*x));
    }
    Ok(sums)
}
