//! `ExpandDims`: a new dimension of size 1.

use crate::axis::{axis_input, constant_axis};
use crate::gradients::reshape_like;
use crate::prelude::*;

pub static EXPAND_DIMS: Op = Op {
    name: "ExpandDims",
    doc: "The input with a dimension of size 1 inserted at `dim`.",
    inputs: &["input: T", "dim: Tdim"],
    outputs: &["output: T"],
    attrs: &["T: type", "Tdim: {int32, int64} = DT_INT32"],
    shape,
    grad: Rule(|g| Ok(vec![reshape_like(g, g.x[0])?, Grad::None])),
    kernels: cpu!(run),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3]), Tensor::scalar(1i32)]),
            Case::new(vec![r.tensor(&[2, 3]), Tensor::scalar(-1i64)]),
            Case::new(vec![r.tensor(&[]), int_vector(&[0])]),
        ]
    },
    host_inputs: &["dim"],
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let x = c.input(0);
    let axis = constant_axis(c, 1, x.rank().map(|r| r + 1))?;
    let Some(dims) = x.dims() else { return Ok(vec![PartialShape::unknown()]) };
    let Some(axis) = axis else { return Ok(vec![PartialShape::unknown_of_rank(dims.len() + 1)]) };
    let mut dims = dims.to_vec();
    dims.insert(axis, 1);
    Ok(vec![dims.into_iter().collect()])
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let mut dims = c.shape(0)?.to_vec();
    let axis = axis_input(c, 1, dims.len() + 1)?;
    dims.insert(axis, 1);
    let x = c.take(0)?;
    c.set(0, x.reshape(Shape::new(&dims)?)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn an_axis_outside_or_two_axes_are_refused() {
        let x = floats(&[2], &[1.0, 2.0]);
        for dim in [ints(&[], &[2]), ints(&[], &[-3]), ints(&[2], &[0, 1]), ints(&[0], &[])] {
            assert_eq!(code(call("ExpandDims", &[x.clone(), dim], &[])), Code::InvalidArgument);
        }
    }
}
