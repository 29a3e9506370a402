//! `Fill`: broadcasts a scalar.

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
    // As in legacy TensorFlow ops, a vector of one counts as a scalar, and a scalar as a vector.
    if c.input(1).rank() != Some(1) || c.input(1).elements().is_some_and(|n| n != 1) {
        c.scalar(1)?;
    }
    if c.input(0).rank() == Some(0) {
        return Ok(vec![PartialShape::vector(c.ints(0).and_then(|d| d.first().copied()).unwrap_or(-1))]);
    }
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
    let dims = if c.shape(0)?.is_scalar() { vec![c.scalar_int(0)?] } else { c.int_vector(0)? };
    let value = match c.shape(1)?.dims() {
        [] => c.input(1)?.clone(),
        [1] => c.input(1)?.clone().reshape(Shape::scalar())?,
        _ => return Err(invalid!("value must be a scalar, got shape {}", c.shape(1)?)),
    };
    let out = filled(c.par(), value.dtype(), Shape::from_i64(&dims)?, Some(&value))?;
    c.set(0, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn a_vector_of_one_and_a_scalar_stand_for_each_other() {
        let out = call("Fill", &[ints(&[], &[2]), floats(&[1], &[3.0])], &[]).unwrap();
        assert_eq!((out[0].shape().dims(), out[0].as_slice::<f32>().unwrap()), (&[2][..], &[3.0, 3.0][..]));
        assert_eq!(
            code(call("Fill", &[ints(&[1], &[2]), floats(&[2], &[3.0, 4.0])], &[])),
            Code::InvalidArgument
        );
    }

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
