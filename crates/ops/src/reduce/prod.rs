//! `Prod` over axes.

use super::axes::{cases, every_axis, positive_axes, reduced, reduction, spread_dy};
use crate::gradients::conj;
use crate::prelude::*;
use thalweg_math::reduce;

pub static PROD: Op = Op {
    name: "Prod",
    doc: "The product over the axes named.",
    inputs: &["input: T", "reduction_indices: Tidx"],
    outputs: &["output: T"],
    attrs: &["keep_dims: bool = false", "T: numbertype", "Tidx: {int32, int64} = DT_INT32"],
    shape: reduced,
    grad: Rule(grad),
    kernels: cpu!(make prepare: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    cases,
    host_inputs: &["reduction_indices"],
    ..Op::PURE
};

/// The product of all others, as running products from both ends: that holds for zeros too. For this the reduced
/// dimensions are brought to the front and seen as one.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, axes) = (g.x[0], g.x[1]);
    let dy = spread_dy(g)?;
    let (shape, rank) = (g.shape_of(x)?, g.unary("Rank", x)?);
    let axes = positive_axes(g, axes, rank)?;
    let every = every_axis(g, rank)?;
    let others = g.binary("ListDiff", every, axes)?;
    let (front, minus_one) = (g.constant(Tensor::scalar(0i32))?, g.constant(Tensor::scalar(-1i32))?);
    let order = g.op("ConcatV2", [vec![axes, others].into(), front.into()], &[])?;
    let sizes = g.op("GatherV2", [shape.into(), others.into(), front.into()], &[])?;
    let kept = g.op("Prod", [sizes.into(), front.into()], &[])?;
    let matrix = g.op("Pack", [vec![minus_one, kept].into()], &[])?;
    let turned = g.binary("Transpose", x, order)?;
    let turned_shape = g.shape_of(turned)?;
    // An empty input has no -1 to be worked out, and no gradient to be computed.
    let safe = if g.graph.shape(x).elements() == Some(0) { turned_shape } else { matrix };
    let flat = g.binary("Reshape", turned, safe)?;
    let scan = |reverse: bool| [("exclusive", Attr::Bool(true)), ("reverse", Attr::Bool(reverse))];
    let before = g.op("Cumprod", [flat.into(), front.into()], &scan(false))?;
    let after = g.op("Cumprod", [flat.into(), front.into()], &scan(true))?;
    let (before, after) = (conj(g, before)?, conj(g, after)?);
    let others = g.binary("Mul", before, after)?;
    let others = g.binary("Reshape", others, turned_shape)?;
    let back = g.unary("InvertPermutation", order)?;
    let others = g.binary("Transpose", others, back)?;
    Ok(vec![g.binary("Mul", dy, others)?.into(), Grad::None])
}

fn prepare<T: Element + reduce::Element<Acc: reduce::Number>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction::<T, _>(node, |_| reduce::Prod)
}
