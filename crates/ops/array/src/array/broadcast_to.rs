//! `BroadcastTo`: a tensor repeated to a shape, as numpy broadcasts.

use crate::broadcast::broadcast_shape;
use crate::gradients::sum_to_shape_of;
use crate::moving::Block;
use crate::prelude::*;
use thalweg_core::shape_call::broadcast_shapes;

pub static BROADCAST_TO: Op = Op {
    name: "BroadcastTo",
    doc: "The input repeated along dimensions of size 1, and new ones in front, to the shape given.",
    inputs: &["input: T", "shape: Tidx"],
    outputs: &["output: T"],
    attrs: &["T: type", "Tidx: {int32, int64} = DT_INT32"],
    shape,
    grad: Rule(|g| {
        let (x, y, dy) = (g.x[0], g.y[0], g.dy()?);
        Ok(vec![sum_to_shape_of(g, dy, x, y)?.into(), Grad::None])
    }),
    kernels: cpu!(run),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[3]), int_vector(&[2, 3])]),
            Case::new(vec![r.tensor(&[2, 1, 3]), int_vector(&[4, 2, 2, 3])]),
            Case::new(vec![r.tensor(&[1]), int_vector(&[0])]),
        ]
    },
    host_inputs: &["shape"],
    identity_if_same_shape: true,
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    c.rank(1, 1)?;
    let (x, to) = (c.input(0), c.as_shape(1)?);
    if let (Some(from), Some(rank)) = (x.rank(), to.rank()) {
        if from > rank {
            return Err(invalid!(
                "Rank of input ({from}) must be no greater than rank of output shape ({rank})."
            ));
        }
        if to.is_fully_known() && x.is_fully_known() && broadcast_shapes(&x, &to)? != to {
            return Err(invalid!("invalid shape to broadcast from {x} to {to}"));
        }
    }
    Ok(vec![to])
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let x = c.input(0)?;
    let shape = Shape::from_i64(&c.int_vector(1)?)?;
    if x.rank() > shape.rank() {
        return Err(invalid!(
            "Rank of input ({}) must be no greater than rank of output shape ({}).",
            x.rank(),
            shape.rank()
        ));
    }
    if broadcast_shape(x.shape(), &shape).ok().as_ref() != Some(&shape) {
        return Err(invalid!("Incompatible shapes: {} vs. {shape}", x.shape()));
    }
    let out = if *x.shape() == shape {
        x.clone()
    } else {
        let mut out = Tensor::uninit(x.dtype(), shape)?;
        let block = Block::broadcast(x.shape(), out.shape());
        block.copy(c.par(), x, &mut out)?;
        out
    };
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn shapes_that_do_not_broadcast_are_refused() {
        let x = floats(&[2], &[1.0, 2.0]);
        for shape in [ints(&[1], &[3]), ints(&[1], &[1]), ints(&[0], &[]), ints(&[2], &[-1, 2])] {
            assert_eq!(code(call("BroadcastTo", &[x.clone(), shape], &[])), Code::InvalidArgument);
        }
    }
}
