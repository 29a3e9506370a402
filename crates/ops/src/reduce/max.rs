//! `Max` and `Min` over axes.

use super::axes::{cases, reduced, reduction, with_kept_dims};
use crate::gradients::cast;
use crate::prelude::*;
use thalweg_math::reduce;

pub static MAX: Op = Op {
    name: "Max",
    doc: "The largest element over the axes named; NaN if there is one.",
    inputs: &["input: T", "reduction_indices: Tidx"],
    outputs: &["output: T"],
    attrs: &[
        "keep_dims: bool = false",
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, qint32, qint16, quint16}",
        "Tidx: {int32, int64} = DT_INT32",
    ],
    shape: reduced,
    grad: Rule(grad),
    kernels: cpu!(make prepare_max: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    cases,
    host_inputs: &["reduction_indices"],
    ..Op::PURE
};

pub static MIN: Op = Op {
    name: "Min",
    doc: "The smallest element over the axes named; NaN if there is one.",
    kernels: cpu!(make prepare_min: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    ..MAX
};

/// What flows back goes to the element that was taken, in equal parts if several are equal.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, axes, y, dy) = (g.x[0], g.x[1], g.y[0], g.dy()?);
    let (y, dy) = (with_kept_dims(g, y)?, with_kept_dims(g, dy)?);
    let taken = g.binary("Equal", y, x)?;
    let taken = cast(g, taken, dy)?;
    let count = g.op("Sum", [taken.into(), axes.into()], &[("keep_dims", Attr::Bool(true))])?;
    let share = g.binary("RealDiv", taken, count)?;
    Ok(vec![g.binary("Mul", share, dy)?.into(), Grad::None])
}

fn prepare_max<T: Element + reduce::Element<Acc: reduce::Ordered>>(
    node: &KernelNode,
) -> Result<Box<dyn Kernel>> {
    reduction::<T, _>(node, |_| reduce::Max)
}

fn prepare_min<T: Element + reduce::Element<Acc: reduce::Ordered>>(
    node: &KernelNode,
) -> Result<Box<dyn Kernel>> {
    reduction::<T, _>(node, |_| reduce::Min)
}
