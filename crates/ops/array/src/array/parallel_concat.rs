//! `ParallelConcat`: rows that are each of length one, concatenated. TensorFlow rewrites it to one `_ParallelConcatStart` and an
//! `_ParallelConcatUpdate` for each row, which other masters may send.

use crate::moving::Block;
use crate::prelude::*;

pub static PARALLEL_CONCAT: Op = Op {
    name: "ParallelConcat",
    doc: "The values, each of length 1 in the first dimension, concatenated along it.",
    inputs: &["values: N * T"],
    outputs: &["output: T"],
    attrs: &["N: int >= 1", "T: type", "shape: shape"],
    shape: |c| {
        let declared = c.attrs.shape("shape")?;
        if !declared.is_fully_known() {
            return Err(invalid!("All input shapes must be fully defined."));
        }
        for value in c.inputs {
            if value.rank().is_some_and(|r| r == 0)
                || value.dims().is_some_and(|d| !matches!(d.first(), Some(1 | -1)))
            {
                return Err(invalid!("Size of first dimension must be 1."));
            }
        }
        Ok(vec![declared.clone()])
    },
    kernels: cpu!(concat),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[1, 3]), r.tensor(&[1, 3])])
                .attr("shape", PartialShape::from_iter([2i64, 3])),
        ]
    },
    ..Op::PURE
};

fn concat(c: &mut OpCall<'_>) -> Result<()> {
    let declared = c.attrs().shape("shape")?;
    let shape = declared.to_shape().ok_or_else(|| invalid!("shape must be fully known, got {declared}"))?;
    if shape.first() != Some(&c.inputs.len()) {
        return Err(invalid!("{} values for the shape {shape}", c.inputs.len()));
    }
    let mut out = Tensor::uninit(c.output_type(0)?, shape)?;
    for i in 0..c.inputs.len() {
        put_row(c, i, i, &mut out)?;
    }
    c.set(0, out);
    Ok(())
}

/// Writes input `i`, one row, to row `at`.
fn put_row(c: &OpCall<'_>, i: usize, at: usize, out: &mut Tensor) -> Result<()> {
    let value = c.input(i)?;
    let (row, rows) = (out.shape().get(1..).unwrap_or(&[]), out.shape().first().copied().unwrap_or(0));
    if value.shape().first() != Some(&1) || value.shape().get(1..) != Some(row) || at >= rows {
        return Err(invalid!(
            "value and update shape doesn't match: {} vs. {}, row {at}",
            out.shape(),
            value.shape()
        ));
    }
    let each = value.elements();
    Block::at(0, at.saturating_mul(each)).dim(each, 1, 1).copy(c.par(), value, out)
}

pub static PARALLEL_CONCAT_START: Op = Op {
    name: "_ParallelConcatStart",
    doc: "The tensor that rows are written to.",
    outputs: &["output: dtype"],
    attrs: &["shape: shape", "dtype: type"],
    shape: |c| Ok(vec![c.attrs.shape("shape")?.clone()]),
    kernels: cpu!(start),
    ..Op::STATEFUL
};

fn start(c: &mut OpCall<'_>) -> Result<()> {
    let declared = c.attrs().shape("shape")?;
    let shape = declared.to_shape().ok_or_else(|| invalid!("shape must be fully known, got {declared}"))?;
    c.set(0, Tensor::zeros(c.output_type(0)?, shape)?);
    Ok(())
}

pub static PARALLEL_CONCAT_UPDATE: Op = Op {
    name: "_ParallelConcatUpdate",
    doc: "The value with row `loc` replaced by `update`.",
    inputs: &["value: T", "update: T"],
    outputs: &["output: T"],
    attrs: &["T: type", "loc: int"],
    shape: same_as_input,
    kernels: cpu!(update),
    ..Op::PURE
};

fn update(c: &mut OpCall<'_>) -> Result<()> {
    let loc = c.attrs().int("loc")?;
    let mut out = c.take(0)?;
    let rows = out.shape().first().copied().ok_or_else(|| invalid!("value must be at least a vector"))?;
    // From the end where negative.
    let at = loc.checked_rem_euclid(rows as i64).unwrap_or(0) as usize;
    put_row(c, 1, at, &mut out)?;
    c.set(0, out);
    Ok(())
}
