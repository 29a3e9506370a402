//! `TensorStridedSliceUpdate`: a strided slice replaced.

use super::slice_spec::{ATTRS, Entries, Masks, Slice};
use crate::broadcast::broadcast_shape;
use crate::moving::Block;
use crate::prelude::*;

pub static TENSOR_STRIDED_SLICE_UPDATE: Op = Op {
    name: "TensorStridedSliceUpdate",
    doc: "The input with `value`, broadcast, written to the slice that StridedSlice selects.",
    inputs: &["input: T", "begin: Index", "end: Index", "strides: Index", "value: T"],
    outputs: &["output: T"],
    attrs: &[
        "T: type",
        "Index: {int32, int64}",
        "begin_mask: int = 0",
        "end_mask: int = 0",
        "ellipsis_mask: int = 0",
        "new_axis_mask: int = 0",
        "shrink_axis_mask: int = 0",
    ],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(make prepare),
    cases: |r| {
        let spec = |x: Tensor, b: &[i32], e: &[i32], s: &[i32], v: Tensor| {
            Case::new(vec![x, int_vector(b), int_vector(e), int_vector(s), v])
        };
        vec![
            spec(r.tensor(&[5, 3]), &[-1, 0], &[0, 3], &[-2, 2], r.tensor(&[2, 2])),
            spec(r.tensor(&[5, 3]), &[2], &[3], &[1], r.tensor(&[3])).attr("shrink_axis_mask", 1),
        ]
    },
    host_inputs: &["begin", "end", "strides"],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (b, e, s, value, dy) = (g.x[1], g.x[2], g.x[3], g.x[4], g.dy()?);
    let masks: Vec<(&'static str, Attr)> =
        ATTRS.iter().map(|name| Ok((*name, g.attrs.int(name)?.into()))).collect::<Result<_>>()?;
    let zeros = g.unary("ZerosLike", value)?;
    let inputs = [dy.into(), b.into(), e.into(), s.into(), zeros.into()];
    let dx = g.op("TensorStridedSliceUpdate", inputs, &masks)?;
    let dv = g.op("StridedSlice", [dy.into(), b.into(), e.into(), s.into()], &masks)?;
    Ok(vec![dx.into(), Grad::None, Grad::None, Grad::None, dv.into()])
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let masks = Masks::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let slice = Slice::new(&c.shape(0)?.to_i64(), &Entries::of(c, 1)?, masks)?;
        let part = slice.shape()?;
        let value = c.input(4)?;
        if broadcast_shape(value.shape(), &part).ok().as_ref() != Some(&part) {
            return Err(invalid!("Cannot broadcast input shape {} into final shape {part}", value.shape()));
        }
        let value = if *value.shape() == part {
            value.clone()
        } else {
            let mut whole = Tensor::uninit(value.dtype(), part.clone())?;
            Block::broadcast(value.shape(), &part).copy(c.par(), value, &mut whole)?;
            whole
        };
        let mut out = c.take(0)?;
        slice.block(&out.shape().clone(), false).copy(c.par(), &value, &mut out)?;
        c.set(0, out);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn a_value_is_broadcast_or_refused() {
        let set = |value| {
            let one = |v| ints(&[1], &[v]);
            call(
                "TensorStridedSliceUpdate",
                &[floats(&[4], &[1.0, 2.0, 3.0, 4.0]), one(0), one(3), one(1), value],
                &[],
            )
        };
        for value in [floats(&[], &[7.0]), floats(&[1], &[7.0])] {
            assert_eq!(set(value).unwrap()[0].as_slice::<f32>().unwrap(), &[7.0, 7.0, 7.0, 4.0]);
        }
        assert_eq!(code(set(floats(&[2], &[7.0, 8.0]))), Code::InvalidArgument);
    }
}
