//! `Diag`, `DiagPart`: a tensor as the diagonal of one of twice its rank; inverse.

use crate::moving::Block;
use crate::prelude::*;

pub static DIAG: Op = Op {
    name: "Diag",
    doc: "Zeros of shape `[shape, shape]`, with the input where both halves of the coordinates agree.",
    inputs: &["diagonal: T"],
    outputs: &["output: T"],
    attrs: &["T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"],
    shape: |c| {
        let x = c.rank_at_least(0, 1)?;
        Ok(vec![x.concat(&x)])
    },
    grad: Rule(|g| {
        let dy = g.dy()?;
        Ok(vec![g.unary("DiagPart", dy)?.into()])
    }),
    kernels: cpu!(run),
    cases: |r| vec![Case::new(vec![r.tensor(&[3])]), Case::new(vec![r.tensor(&[2, 3])])],
    ..Op::PURE
};

pub static DIAG_PART: Op = Op {
    name: "DiagPart",
    doc: "The elements of the input where both halves of the coordinates agree.",
    inputs: &["input: T"],
    outputs: &["diagonal: T"],
    shape: |c| {
        let x = c.input(0);
        let Some(dims) = x.dims() else { return Ok(vec![x]) };
        if dims.is_empty() || dims.len() % 2 != 0 {
            return Err(invalid!("Input must have even and non-zero rank, input rank is {}", dims.len()));
        }
        let (a, b) = dims.split_at(dims.len() / 2);
        Ok(vec![a.iter().zip(b).map(|(a, b)| merge_dim(*a, *b)).collect::<Result<_>>()?])
    },
    grad: Rule(|g| {
        let dy = g.dy()?;
        Ok(vec![g.unary("Diag", dy)?.into()])
    }),
    kernels: cpu!(run_part),
    cases: |r| vec![Case::new(vec![r.tensor(&[3, 3])]), Case::new(vec![r.tensor(&[2, 3, 2, 3])])],
    ..DIAG
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let x = c.input(0)?;
    if x.rank() == 0 {
        return Err(invalid!("Input must be at least rank 1, got 0"));
    }
    let mut out = Tensor::zeros(x.dtype(), Shape::new(&[x.shape().dims(), x.shape().dims()].concat())?)?;
    let n = x.elements();
    Block::at(0, 0).dim(n, 1, n as isize + 1).copy(c.par(), x, &mut out)?;
    c.set(0, out);
    Ok(())
}

fn run_part(c: &mut OpCall<'_>) -> Result<()> {
    let x = c.input(0)?;
    let (a, b) = x.shape().split_at(x.rank() / 2);
    if a != b || a.is_empty() {
        return Err(invalid!(
            "Input must have even and non-zero rank, both halves of its shape equal; got {}",
            x.shape()
        ));
    }
    let mut out = Tensor::uninit(x.dtype(), Shape::new(a)?)?;
    let n = out.elements();
    Block::at(0, 0).dim(n, n as isize + 1, 1).copy(c.par(), x, &mut out)?;
    c.set(0, out);
    Ok(())
}
