//! `OnesLike`: ones of the input's type and shape.

use crate::prelude::*;

pub static ONES_LIKE: Op = Op {
    name: "OnesLike",
    doc: "A tensor of ones of the type and shape of x.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &[
        "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64, complex64, complex128, bool}",
    ],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(run: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble, bool),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])]), Case::new(vec![r.tensor(&[])])],
    fills: true,
    ..Op::PURE
};

fn run<T: Element>(c: &mut OpCall<'_>) -> Result<()> {
    let one = thalweg_core::tensor::Tensor::number(1.0, T::DTYPE)?.to_scalar::<T>()?;
    c.set(0, Tensor::full(c.shape(0)?.clone(), one)?);
    Ok(())
}
