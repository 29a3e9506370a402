//! `Fill`: one value throughout.

use crate::moving::filled;
use crate::prelude::*;

pub static FILL: Op = Op {
    name: "Fill",
    doc: "A tensor of shape `dims` in which every element is `value`.",
    inputs: &["dims: index_type", "value: T"],
    outputs: &["output: T"],
    attrs: &["T: type", "index_type: {int32, int64} = DT_INT32"],
    shape,
    grad: Rule(grad),
    kernels: cpu!(run),
    cases: |_| {
        vec![
            Case::new(vec![int_vector(&[2, 3]), Tensor::scalar(1.5f32)]),
            Case::new(vec![int_vector(&[]), Tensor::scalar(1.5f32)]),
            Case::new(vec![int_vector(&[2, 0]), Tensor::scalar(1.5f32)]),
        ]
    },
    host_inputs: &["dims"],
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    c.scalar(1)?;
    if let Some(d) = c.ints(0).and_then(|dims| dims.into_iter().find(|d| *d < 0)) {
        return Err(invalid!("Fill dimensions must be >= 0, got {d}"));
    }
    Ok(vec![c.as_shape(0)?])
}

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let dy = g.dy()?;
    let (zero, one) = (g.constant(Tensor::scalar(0i32))?, g.constant(Tensor::scalar(1i32))?);
    let rank = g.unary("Rank", dy)?;
    let axes = g.op("Range", [zero.into(), rank.into(), one.into()], &[])?;
    Ok(vec![Grad::None, g.op("Sum", [dy.into(), axes.into()], &[])?.into()])
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (dims, value) = (c.int_vector(0)?, c.input(1)?);
    if value.rank() != 0 {
        return Err(invalid!("value must be a scalar, got shape {}", value.shape()));
    }
    let out = filled(c.par(), value.dtype(), Shape::from_i64(&dims)?, Some(value))?;
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn absurd_shapes_are_refused_before_memory_is_asked_for() {
        let v = floats(&[], &[1.0]);
        assert_eq!(code(call("Fill", &[ints(&[1], &[-1]), v.clone()], &[])), Code::InvalidArgument);
        let dims = Tensor::vector(&[1i64 << 40, 1 << 40]).unwrap();
        assert_eq!(code(call("Fill", &[dims, v.clone()], &[])), Code::InvalidArgument);
        let dims = Tensor::vector(&[1i64 << 40]).unwrap();
        assert_eq!(code(call("Fill", &[dims, v], &[])), Code::ResourceExhausted);
    }
}
