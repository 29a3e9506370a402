//! `ReverseV2`, `Reverse`: reversal along dimensions.

use crate::moving::Block;
use crate::prelude::*;

pub static REVERSE_V2: Op = Op {
    name: "ReverseV2",
    doc: "The input with the dimensions listed in `axis` reversed.",
    inputs: &["tensor: T", "axis: Tidx"],
    outputs: &["output: T"],
    attrs: &[
        "Tidx: {int32, int64} = DT_INT32",
        "T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, half, float, double, complex64, complex128, string}",
    ],
    shape: |c| {
        c.rank(1, 1)?;
        if let (Some(rank), Some(axes)) = (c.input(0).rank(), c.ints(1)) {
            flags(&axes, rank)?;
        }
        Ok(vec![c.input(0)])
    },
    grad: Rule(|g| {
        let (axes, dy) = (g.x[1], g.dy()?);
        Ok(vec![g.binary(g.op, dy, axes)?.into(), Grad::None])
    }),
    kernels: cpu!(run_v2),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), int_vector(&[-1])]),
            Case::new(vec![r.tensor(&[2, 3, 2]), int_vector(&[0, 2])]),
            Case::new(vec![r.tensor(&[2]), int_vector(&[])]),
        ]
    },
    host_inputs: &["axis"],
    ..Op::PURE
};

pub static REVERSE: Op = Op {
    name: "Reverse",
    doc: "The input with the dimensions reversed for which `dims` is true.",
    inputs: &["tensor: T", "dims: bool"],
    attrs: &[
        "T: {uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, bfloat16, half, float, double, complex64, complex128, string}",
    ],
    shape: |c| {
        let n = c.rank(1, 1)?.dim(0);
        Ok(vec![if n >= 0 { c.rank(0, n as usize)? } else { c.input(0) }])
    },
    kernels: cpu!(run_v1),
    cases: |r| {
        let dims = Tensor::vector(&[true, false]).into_iter();
        dims.map(|d| Case::new(vec![r.tensor(&[2, 3]), d])).collect()
    },
    host_inputs: &["dims"],
    ..REVERSE_V2
};

/// The dimensions to reverse.
fn flags(axes: &[i64], rank: usize) -> Result<Vec<bool>> {
    let mut reversed = vec![false; rank];
    for axis in axes {
        let axis = axis_in_range(*axis, rank)?;
        if std::mem::replace(&mut reversed[axis], true) {
            return Err(invalid!("axis {axis} specified more than once."));
        }
    }
    Ok(reversed)
}

fn run_v2(c: &mut OpCall<'_>) -> Result<()> {
    let axes = c.int_vector(1)?;
    // TensorFlow returns a scalar as it is, whatever the axes are.
    let reversed = if c.shape(0)?.is_scalar() { Vec::new() } else { flags(&axes, c.shape(0)?.rank())? };
    reverse(c, &reversed)
}

fn run_v1(c: &mut OpCall<'_>) -> Result<()> {
    let (dims, rank) = (c.input(1)?, c.shape(0)?.rank());
    if dims.shape().dims() != [rank] {
        return Err(invalid!(
            "'dims' must have the same number of values as 'input' has dimensions. 'input' has {rank}, 'dims' has shape {}",
            dims.shape()
        ));
    }
    let reversed = dims.as_slice::<bool>()?.to_vec();
    reverse(c, &reversed)
}

fn reverse(c: &mut OpCall<'_>, reversed: &[bool]) -> Result<()> {
    let x = c.input(0)?;
    let mut out = Tensor::uninit(x.dtype(), x.shape().clone())?;
    let strides = x.shape().strides();
    let last = |i: usize| if reversed[i] { x.shape()[i].saturating_sub(1) * strides[i] } else { 0 };
    let mut block = Block::at((0..x.rank()).map(last).sum(), 0);
    for (i, n) in x.shape().iter().enumerate() {
        let step = strides[i] as isize;
        block = block.dim(*n, if reversed[i] { -step } else { step }, step);
    }
    block.copy(c.par(), x, &mut out)?;
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn an_empty_tensor_can_be_reversed() {
        let dims = Tensor::vector(&[true, false, true]).unwrap();
        let y = call("Reverse", &[floats(&[0, 1, 1], &[]), dims], &[]).unwrap();
        assert_eq!(y[0].shape().dims(), &[0, 1, 1]);
    }

    #[test]
    fn axes_twice_or_outside_are_refused() {
        for axes in [[0, 0], [0, 3], [0, -1]] {
            let inputs = [floats(&[1], &[1.0]), ints(&[2], &axes)];
            assert_eq!(code(call("ReverseV2", &inputs, &[])), Code::InvalidArgument);
        }
    }
}
