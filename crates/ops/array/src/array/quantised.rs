//! `QuantizedConcat`, `QuantizedConcatV2` and `QuantizedReshape`: as `Concat` and `Reshape`, with the ranges that the integers stand for.

use super::{concat, reshape};
use crate::axis::single_int;
use crate::levels::{Levels, bound, bounds, integers, limits, quantised};
use crate::prelude::*;
use std::ops::Range;

pub static OPS: &[&Op] = &[&QUANTIZED_CONCAT, &QUANTIZED_CONCAT_V2, &QUANTIZED_RESHAPE];

static QUANTIZED_CONCAT: Op = Op {
    name: "QuantizedConcat",
    doc: "The values concatenated along `concat_dim`, moved to a range that has those of all.",
    inputs: &["concat_dim: int32", "values: N * T", "input_mins: N * float", "input_maxes: N * float"],
    outputs: &["output: T", "output_min: float", "output_max: float"],
    attrs: concat::CONCAT.attrs,
    shape: |c| {
        let values = c.args.get(1).cloned().unwrap_or(0..0);
        (values.end..c.inputs.len()).try_for_each(|i| c.scalar(i))?;
        let shapes = concat::shape(c, values, 0)?;
        Ok(shapes.into_iter().chain([PartialShape::scalar(), PartialShape::scalar()]).collect())
    },
    grad: Missing,
    kernels: &[
        cpu_row!([("T", DataType::Quint8)], Make::Plain(run_concat)),
        cpu_row!([("T", DataType::Qint32)], Make::Plain(run_concat)),
    ],
    cases: |r| {
        let mut case = |dtype, high| {
            let values = [&[2, 3][..], &[2, 1]].map(|dims| quantised(r.ints(dims, 0, high), dtype));
            let bounds = [-1f32, -2.0, 3.0, 1.0].map(Tensor::scalar);
            let dim = Tensor::scalar(1i32);
            Case::new([dim].into_iter().chain(values.into_iter().flatten()).chain(bounds).collect())
        };
        vec![case(DataType::Quint8, 255), case(DataType::Qint32, 1_000_000_000)]
    },
    host_inputs: &["concat_dim"],
    ..Op::PURE
};

static QUANTIZED_CONCAT_V2: Op = Op {
    name: "QuantizedConcatV2",
    doc: "QuantizedConcat, with the dimension after the values.",
    inputs: &["values: N * T", "axis: Tidx", "input_mins: N * float", "input_maxes: N * float"],
    attrs: concat::CONCAT_V2.attrs,
    shape: |c| {
        let values = c.args.first().cloned().unwrap_or(0..0);
        let axis = values.end;
        (axis + 1..c.inputs.len()).try_for_each(|i| c.scalar(i))?;
        let shapes = concat::shape(c, values, axis)?;
        Ok(shapes.into_iter().chain([PartialShape::scalar(), PartialShape::scalar()]).collect())
    },
    kernels: &[
        cpu_row!([("T", DataType::Quint8)], Make::Plain(run_concat_v2)),
        cpu_row!([("T", DataType::Qint32)], Make::Plain(run_concat_v2)),
    ],
    cases: |r| {
        let cases = (QUANTIZED_CONCAT.cases)(r).into_iter();
        cases
            .map(|mut case| {
                case.inputs[..3].rotate_left(1);
                case
            })
            .collect()
    },
    host_inputs: &["axis"],
    ..QUANTIZED_CONCAT
};

static QUANTIZED_RESHAPE: Op = Op {
    name: "QuantizedReshape",
    doc: "The elements under a new shape, and their range.",
    inputs: &["tensor: T", "shape: Tshape", "input_min: float", "input_max: float"],
    outputs: &["output: T", "output_min: float", "output_max: float"],
    attrs: reshape::RESHAPE.attrs,
    shape: |c| {
        let shapes = reshape::shape(c)?;
        c.scalar(2)?;
        c.scalar(3)?;
        Ok(shapes.into_iter().chain([PartialShape::scalar(), PartialShape::scalar()]).collect())
    },
    grad: Missing,
    kernels: &[
        cpu_row!([("T", DataType::Quint8)], Make::Plain(run_reshape)),
        cpu_row!([("T", DataType::Qint32)], Make::Plain(run_reshape)),
    ],
    cases: |r| {
        let mut case = |dtype| {
            let stored = quantised(r.ints(&[2, 3], 0, 255), dtype);
            let bounds = [-1f32, 2.0].map(Tensor::scalar);
            Case::new(stored.into_iter().chain([int_vector(&[3, -1])]).chain(bounds).collect())
        };
        vec![case(DataType::Quint8), case(DataType::Qint32)]
    },
    host_inputs: &["shape"],
    ..Op::PURE
};

fn run_concat(c: &mut OpCall<'_>) -> Result<()> {
    let values = c.arg(1);
    concatenated(c, values, 0)
}

fn run_concat_v2(c: &mut OpCall<'_>) -> Result<()> {
    let values = c.arg(0);
    let axis = values.end;
    concatenated(c, values, axis)
}

/// `axis`: the input that says along which dimension.
fn concatenated(c: &mut OpCall<'_>, values: Range<usize>, axis: usize) -> Result<()> {
    let (mins, maxes) = (c.arg(2), c.arg(3));
    let (dtype, dim) = (c.output_type(0)?, single_int(c, axis)?);
    if dim < 0 {
        return Err(invalid!("ConcatOp : Expected concatenating dimensions of at least 0, but got {dim}"));
    }
    let ranges = mins.zip(maxes).map(|(low, high)| Ok((bound(c, low)?, bound(c, high)?)));
    let ranges = reserve::try_collect(ranges)?;
    // The least number is not above 0.
    let mut all = ranges.iter().fold((0f32, f32::MIN), |all, range| (all.0.min(range.0), all.1.max(range.1)));
    if limits(dtype)?.0 < 0 {
        // The range of signed integers has 0 in its middle.
        let reach = all.0.abs().max(all.1.abs());
        all = (-reach, reach);
    }
    let rounding = Levels::new(dtype, all)?.rounding();
    for (i, range) in values.clone().zip(ranges) {
        if range == all {
            continue;
        }
        let (scale, offset) = Levels::new(dtype, range)?.line();
        let move_all = |mut x: Tensor| {
            x.as_mut_slice::<i32>()?.iter_mut().for_each(|x| *x = rounding.level(offset + *x as f32 * scale));
            quantised(x, dtype)
        };
        let moved = match dtype {
            DataType::Quint8 => {
                let table = move_all(Tensor::from_slice(Shape::vector(256), &BYTES)?)?;
                looked_up(c.input(i)?, table.bytes()?)?
            }
            _ => move_all(integers(c.input(i)?)?)?,
        };
        c.inputs[i] = Input::Owned(moved);
    }
    concat::concat(c, values, axis)?;
    c.set(1, Tensor::scalar(all.0));
    c.set(2, Tensor::scalar(all.1));
    Ok(())
}

/// All values of a byte.
const BYTES: [i32; 256] = {
    let mut all = [0; 256];
    let mut i = 0;
    while i < 256 {
        all[i] = i as i32;
        i += 1;
    }
    all
};

/// Each byte replaced by its entry in a table of 256.
fn looked_up(x: &Tensor, table: &[u8]) -> Result<Tensor> {
    let table: &[u8; 256] = table.try_into().map_err(|_| internal("a table of bytes has 256 entries"))?;
    let mut y = Tensor::uninit(x.dtype(), x.shape().clone())?;
    y.bytes_mut()?.iter_mut().zip(x.bytes()?).for_each(|(y, x)| *y = table[usize::from(*x)]);
    Ok(y)
}

fn run_reshape(c: &mut OpCall<'_>) -> Result<()> {
    let (low, high) = bounds(c, 2)?;
    reshape::run(c)?;
    c.set(1, Tensor::scalar(low));
    c.set(2, Tensor::scalar(high));
    Ok(())
}
