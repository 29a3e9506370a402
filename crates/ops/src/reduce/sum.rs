//! `Sum` over axes.

use super::axes::{cases, reduced, reduction, spread_dy};
use crate::prelude::*;
use thalweg_math::reduce;

pub static SUM: Op = Op {
    name: "Sum",
    doc: "The sum over the axes named.",
    inputs: &["input: T", "reduction_indices: Tidx"],
    outputs: &["output: T"],
    attrs: &["keep_dims: bool = false", "T: numbertype", "Tidx: {int32, int64} = DT_INT32"],
    shape: reduced,
    grad: Rule(|g| Ok(vec![spread_dy(g)?.into(), Grad::None])),
    kernels: cpu!(make prepare: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble),
    cases,
    host_inputs: &["reduction_indices"],
    role: Role::SameIfSameShape,
    ..Op::PURE
};

fn prepare<T: Element + reduce::Element<Acc: reduce::Number>>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    reduction::<T, _>(node, |_| reduce::Sum)
}
