//! `EuclideanNorm` over axes.

use super::axes::{cases, reduced, reduction_of_any, with_kept_dims};
use super::squares::{IntegerNorm, Squared, Squares};
use crate::prelude::*;

pub static EUCLIDEAN_NORM: Op = Op {
    name: "EuclideanNorm",
    doc: "The square root of the sum of squares over the axes named.",
    inputs: &["input: T", "reduction_indices: Tidx"],
    outputs: &["output: T"],
    attrs: &["keep_dims: bool = false", "T: numbertype", "Tidx: {int32, int64} = DT_INT32"],
    shape: reduced,
    grad: Rule(grad),
    kernels: cpu!(make prepare: T in f32, f64, f16, bf16, Complex32, ComplexDouble; prepare_integer: T in i32, i64, u8, u16, u32, u64, i8, i16),
    cases,
    host_inputs: &["reduction_indices"],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, y, dy) = (g.x[0], g.y[0], g.dy()?);
    let (y, dy) = (with_kept_dims(g, y)?, with_kept_dims(g, dy)?);
    let scale = g.binary("RealDiv", y, dy)?;
    Ok(vec![g.binary("RealDiv", x, scale)?.into(), Grad::None])
}

fn prepare<T: Squared>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction_of_any::<T, _>(node, |_| Squares(f64::sqrt))
}

fn prepare_integer<T: Integer>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction_of_any::<T, _>(node, |_| IntegerNorm)
}
