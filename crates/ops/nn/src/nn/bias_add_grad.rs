//! `BiasAddGrad`: the bias gradient of `BiasAdd`.

use super::channels::channel_axis;
use crate::prelude::*;
use thalweg_math::reduce;

pub static BIAS_ADD_GRAD: Op = Op {
    name: "BiasAddGrad",
    doc: "The sum over all dimensions but that of the channels.",
    inputs: &["out_backprop: T"],
    outputs: &["output: T"],
    attrs: &["T: numbertype", "data_format: {'NHWC', 'NCHW'} = 'NHWC'"],
    shape: |c| {
        let dy = c.rank_at_least(0, 2)?;
        Ok(vec![PartialShape::vector(dy.rank().map_or(-1, |r| dy.dim(channel_axis(c.attrs, r))))])
    },
    grad: Rule(grad),
    kernels: cpu!(make prepare: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[2, 3])]),
            Case::new(vec![r.tensor(&[2, 2, 2, 3])]),
            Case::new(vec![r.tensor(&[2, 3, 2, 2])]).attr("data_format", "NCHW"),
        ]
    },
    ..Op::PURE
};

/// Broadcasts over all other dimensions, by adding to zeros.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, d) = (g.x[0], g.dy()?);
    let zeros = g.unary("ZerosLike", x)?;
    let format = Attr::str(g.attrs.str("data_format")?);
    Ok(vec![g.op("BiasAdd", [zeros.into(), d.into()], &[("data_format", format)])?.into()])
}

fn prepare<T: Element + reduce::Element<Acc: reduce::Number>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let attrs = node.attrs.clone();
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let shape = c.shape(0)?;
        if shape.rank() < 2 {
            return Err(invalid!("Input tensor must be at least 2D: {shape}"));
        }
        let axis = channel_axis(&attrs, shape.rank());
        let (before, _, after) = shape.around(axis)?;
        let plan = reduce::Plan::new(&[before, shape[axis], after], &[true, false, true]);
        let mut out = Tensor::uninit(T::DTYPE, Shape::vector(shape[axis]))?;
        reduce::reduce(c.par(), &plan, &reduce::Sum, c.slice::<T>(0)?, out.as_mut_slice::<T>()?);
        c.set(0, out);
        Ok(())
    }))
}
