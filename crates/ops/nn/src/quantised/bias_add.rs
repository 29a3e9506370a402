//! `QuantizedBiasAdd`: images and a bias in 8 bits, moved to a common range of 32 bits and added there.

use super::requantize::row;
use crate::elementwise::for_slices;
use crate::levels::{Levels, Rounding, bounds, integers, quantised};
use crate::prelude::*;

pub static OPS: &[&Op] = &[&QUANTIZED_BIAS_ADD];

static QUANTIZED_BIAS_ADD: Op = Op {
    name: "QuantizedBiasAdd",
    doc: "The bias of the last dimension added to the input, in 32 bits.",
    inputs: &[
        "input: T1",
        "bias: T2",
        "min_input: float",
        "max_input: float",
        "min_bias: float",
        "max_bias: float",
    ],
    outputs: &["output: out_type", "min_out: float", "max_out: float"],
    attrs: &[
        "T1: {qint8, quint8, qint32, qint16, quint16}",
        "T2: {qint8, quint8, qint32, qint16, quint16}",
        "out_type: {qint8, quint8, qint32, qint16, quint16}",
    ],
    shape: |c| {
        (2..6).try_for_each(|i| c.scalar(i))?;
        let (input, bias) = (c.rank_at_least(0, 2)?, c.rank(1, 1)?);
        if let Some(rank) = input.rank() {
            merge_dim(input.dim(rank.saturating_sub(1)), bias.dim(0))?;
        }
        Ok(vec![input, PartialShape::scalar(), PartialShape::scalar()])
    },
    grad: Missing,
    kernels: &[row(types(DataType::Quint8), add), row(types(DataType::Qint8), add)],
    cases: |r| {
        let mut of = |dtype: DataType, least: i32| {
            let stored = [&[2, 3][..], &[3]].map(|dims| quantised(r.ints(dims, least, least + 255), dtype));
            let bounds = [-1f32, 2.0, -3.0, 3.0].map(Tensor::scalar);
            Case::new(stored.into_iter().flatten().chain(bounds).collect()).attr("out_type", DataType::Qint32)
        };
        vec![of(DataType::Quint8, 0), of(DataType::Qint8, -128)]
    },
    ..Op::PURE
};

const fn types(dtype: DataType) -> &'static [(&'static str, DataType)] {
    use DataType::{Qint8, Qint32, Quint8};
    match dtype {
        Quint8 => &[("T1", Quint8), ("T2", Quint8), ("out_type", Qint32)],
        _ => &[("T1", Qint8), ("T2", Qint8), ("out_type", Qint32)],
    }
}

/// How far the range of the sums reaches beyond those of the summands.
const ROOM: f32 = (1 << 17) as f32;

fn add(c: &mut OpCall<'_>) -> Result<()> {
    let (shape, bias) = (c.shape(0)?.clone(), c.input(1)?);
    if shape.rank() < 2 {
        return Err(invalid!("Input tensor must be at least 2D: {shape}"));
    }
    let channels = shape.last().copied().unwrap_or(0);
    if bias.rank() != 1 || bias.elements() != channels {
        return Err(invalid!(
            "Must provide as many biases as the last dimension of the input tensor: {} vs. {shape}",
            bias.shape()
        ));
    }
    let (of_input, of_bias) = (bounds(c, 2)?, bounds(c, 4)?);
    let reach = of_input.1.max(-of_input.0).max(of_bias.1.max(-of_bias.0)) * ROOM;
    let sums = Levels::new(DataType::Qint32, (-reach, reach))?;
    let (rounding, zero) = (sums.rounding(), sums.level(0.0));
    let dtype = c.input(0)?.dtype();
    let mut bias = integers(bias)?;
    let line = Levels::new(dtype, of_bias)?.line();
    for x in bias.as_mut_slice::<i32>()? {
        *x = moved(*x, line, &rounding).wrapping_add(zero);
    }
    let (stored, bias) = (integers(c.input(0)?)?, bias.as_slice::<i32>()?);
    let (x, line) = (stored.as_slice::<i32>()?, Levels::new(dtype, of_input)?.line());
    let mut out = Tensor::uninit(DataType::Int32, shape)?;
    for_slices(c.par(), (bias, 1), x, out.as_mut_slice::<i32>()?, |bias, x| {
        moved(x, line, &rounding).wrapping_add(*bias)
    });
    c.set(0, quantised(out, DataType::Qint32)?);
    c.set(1, Tensor::scalar(-reach));
    c.set(2, Tensor::scalar(reach));
    Ok(())
}

/// The level, in the range of the sums, of an integer whose float lies on a line.
fn moved(level: i32, (scale, offset): (f32, f32), rounding: &Rounding) -> i32 {
    rounding.level(offset + level as f32 * scale)
}
