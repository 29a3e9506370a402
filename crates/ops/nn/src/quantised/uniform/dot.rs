//! `UniformQuantizedDot` and `UniformQuantizedDotHybrid`: products of matrices of 8-bit integers. In the hybrid form the left matrix is
//! of floats, each of whose rows is quantised by the range that it has.

use super::super::exact::multiplied;
use super::affine::{Affine, Multiplier, level, limits};
use super::elements::{bytes, words};
use crate::levels::quantised;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&UNIFORM_QUANTIZED_DOT, &UNIFORM_QUANTIZED_DOT_HYBRID];

static UNIFORM_QUANTIZED_DOT: Op = Op {
    name: "UniformQuantizedDot",
    doc: "The product of two matrices of 8-bit integers, in 32 bits by scales and zero points of its own.",
    inputs: &[
        "lhs: Tin",
        "rhs: Tin",
        "lhs_scales: float",
        "lhs_zero_points: int32",
        "rhs_scales: float",
        "rhs_zero_points: int32",
        "output_scales: float",
        "output_zero_points: int32",
    ],
    outputs: &["output: Tout"],
    attrs: &[
        "Tin: {qint8}",
        "Tout: {qint32}",
        "lhs_quantization_axis: int = -1",
        "lhs_quantization_min_val: int",
        "lhs_quantization_max_val: int",
        "rhs_quantization_axis: int = -1",
        "rhs_quantization_min_val: int",
        "rhs_quantization_max_val: int",
        "output_quantization_axis: int = -1",
        "output_quantization_min_val: int",
        "output_quantization_max_val: int",
    ],
    shape,
    grad: Missing,
    kernels: &[cpu_row!([("Tin", DataType::Qint8), ("Tout", DataType::Qint32)], Make::Plain(dot))],
    cases: |r| {
        let stored = [[2, 3], [3, 4]].map(|dims| quantised(r.ints(&dims, -128, 127), DataType::Qint8));
        let rest = [
            Tensor::scalar(0.1f32),
            Tensor::scalar(3i32),
            r.range(&[4], 0.1, 0.3),
            r.ints(&[4], -5, 5),
            Tensor::scalar(0.02f32),
            Tensor::scalar(-7i32),
        ];
        let case =
            Case::new(stored.into_iter().flatten().chain(rest).collect()).attr("rhs_quantization_axis", 1);
        let case = case.attr("Tout", DataType::Qint32);
        vec![words(bytes(bytes(case, "lhs_"), "rhs_"), "output_")]
    },
    expensive: true,
    ..Op::PURE
};

static UNIFORM_QUANTIZED_DOT_HYBRID: Op = Op {
    name: "UniformQuantizedDotHybrid",
    doc: "The product of a matrix of floats and one of 8-bit integers.",
    inputs: &["lhs: Tlhs", "rhs: Trhs", "rhs_scales: float", "rhs_zero_points: int32"],
    attrs: &[
        "Tlhs: {float}",
        "Trhs: {qint8}",
        "Tout: {float}",
        "rhs_quantization_axis: int = -1",
        "rhs_quantization_min_val: int",
        "rhs_quantization_max_val: int",
    ],
    kernels: &[cpu_row!([("Trhs", DataType::Qint8)], Make::Plain(hybrid))],
    cases: |r| {
        let stored = quantised(r.ints(&[3, 4], -128, 127), DataType::Qint8);
        let inputs = [vec![r.tensor(&[2, 3])], stored.into_iter().collect()].concat();
        let scales = vec![Tensor::scalar(0.1f32), Tensor::scalar(3i32)];
        vec![bytes(Case::new([inputs, scales].concat()).attr("Tout", DataType::Float), "rhs_")]
    },
    ..UNIFORM_QUANTIZED_DOT
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (lhs, rhs) = (c.rank(0, 2)?, c.rank(1, 2)?);
    merge_dim(lhs.dim(1), rhs.dim(0))?;
    Ok(vec![[lhs.dim(0), rhs.dim(1)].into_iter().collect()])
}

fn dot(c: &mut OpCall<'_>) -> Result<()> {
    let lhs = Affine::along(c, 2, c.shape(0)?, "lhs_quantization_axis", &[])?;
    let rhs = Affine::along(c, 4, c.shape(1)?, "rhs_quantization_axis", &[1])?;
    let mut out = multiplied(
        c.par(),
        &lhs.centred(c.par(), c.input(0)?)?,
        &rhs.centred(c.par(), c.input(1)?)?,
        [false; 2],
    )?;
    let to = Affine::along(c, 6, out.shape(), "output_quantization_axis", &[1])?;
    if rhs.axis.is_none() && to.axis.is_some() {
        return Err(invalid!("if rhs is quantized per-tensor, so must output be"));
    }
    let columns = out.shape().dim(1)?;
    let finish = Requantiser::new(&lhs, &rhs, &to, columns, limits(c.attrs(), "output_")?)?;
    for row in out.as_mut_slice::<i32>()?.chunks_exact_mut(columns.max(1)) {
        row.iter_mut().enumerate().for_each(|(i, x)| *x = finish.level(*x, i));
    }
    c.set(0, quantised(out, DataType::Qint32)?);
    Ok(())
}

/// Sums of products as integers of the result, for each of its channels.
pub struct Requantiser {
    channels: Vec<(Multiplier, i32)>,
    limits: (i32, i32),
}

impl Requantiser {
    pub fn new(
        lhs: &Affine,
        rhs: &Affine,
        to: &Affine,
        channels: usize,
        limits: (i32, i32),
    ) -> Result<Requantiser> {
        let each = (0..channels).map(|i| {
            let factor = f64::from(lhs.scale(0)) * f64::from(rhs.scale(i)) / f64::from(to.scale(i));
            Ok((Multiplier::new(factor)?, to.zero(i)))
        });
        Ok(Requantiser { channels: reserve::try_collect(each)?, limits })
    }

    pub fn level(&self, sum: i32, channel: usize) -> i32 {
        let (factor, zero) = self.channels[channel];
        factor.times(sum).wrapping_add(zero).min(self.limits.1).max(self.limits.0)
    }
}

fn hybrid(c: &mut OpCall<'_>) -> Result<()> {
    let rhs = Affine::along(c, 2, c.shape(1)?, "rhs_quantization_axis", &[1])?;
    let (lhs, scales) = quantised_rows(c.input(0)?)?;
    let sums = multiplied(c.par(), &lhs, &rhs.centred(c.par(), c.input(1)?)?, [false; 2])?;
    let columns = sums.shape().dim(1)?.max(1);
    let mut out = Tensor::uninit(DataType::Float, sums.shape().clone())?;
    let rows = out
        .as_mut_slice::<f32>()?
        .chunks_exact_mut(columns)
        .zip(sums.as_slice::<i32>()?.chunks_exact(columns));
    for ((out, sums), scale) in rows.zip(scales) {
        out.iter_mut()
            .zip(sums)
            .enumerate()
            .for_each(|(i, (out, sum))| *out = *sum as f32 * scale * rhs.scale(i));
    }
    c.set(0, out);
    Ok(())
}

/// Floats as 8-bit integers less their zero point, and the scale, for each slice of the first dimension.
pub fn quantised_rows(x: &Tensor) -> Result<(Tensor, Vec<f32>)> {
    let rows = x.shape().first().copied().unwrap_or(1);
    let each = x.elements().checked_div(rows).unwrap_or(0).max(1);
    let mut out = Tensor::zeros(DataType::Int32, x.shape().clone())?;
    let mut scales = reserve::filled(rows, 1f32)?;
    let parts = x.as_slice::<f32>()?.chunks(each).zip(out.as_mut_slice::<i32>()?.chunks_mut(each));
    for ((x, out), scale) in parts.zip(&mut scales) {
        let (low, high) = x.iter().fold((0f32, 0f32), |(low, high), x| (low.min(*x), high.max(*x)));
        let (low, high) = (f64::from(low), f64::from(high));
        let (step, per_step) = (((high - low) / 255.0) as f32, (255.0 / (high - low)) as f32);
        if step == 0.0 || !per_step.is_finite() {
            continue;
        }
        *scale = step;
        let step = f64::from(step);
        // Of the zero points by the lower and by the upper bound, the one with the smaller error.
        let by_low = 128.0 + (low / step).abs() < 127.0 + (high / step).abs();
        let zero = if by_low { -128.0 - low / step } else { 127.0 - high / step };
        let zero = zero.clamp(-128.0, 127.0).round() as i32;
        out.iter_mut().zip(x).for_each(|(out, x)| *out = level(*x, per_step, zero, (-128, 127)) - zero);
    }
    Ok((out, scales))
}
