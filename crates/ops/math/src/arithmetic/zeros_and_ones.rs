//! Tensors of zeros or ones, in the type and shape of the input.

use crate::prelude::*;
use crate::variants;

pub static OPS: &[&Op] = &[&ZEROS_LIKE, &ONES_LIKE];

static ONES_LIKE: Op = Op {
    name: "OnesLike",
    doc: "A tensor of ones of the type and shape of x.",
    attrs: &[
        "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64, complex64, complex128, bool}",
    ],
    kernels: cpu!(ones: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16, Complex32, ComplexDouble, bool),
    fills: true,
    ..ZEROS_LIKE
};

static ZEROS_LIKE: Op = Op {
    name: "ZerosLike",
    doc: "A tensor of zeros (empty strings) of the type and shape of x; for lists and optionals, of their elements.",
    attrs: &["T: type"],
    grad: Stops,
    kernels: cpu!(zeros),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])]), Case::new(vec![r.tensor(&[])])],
    fills: true,
    ..UNARY
};

fn ones<T: Element>(c: &mut OpCall<'_>) -> Result<()> {
    let one = thalweg_core::tensor::Tensor::number(1.0, T::DTYPE)?.to_scalar::<T>()?;
    c.set(0, Tensor::full(c.shape(0)?.clone(), one)?);
    Ok(())
}

fn zeros(c: &mut OpCall<'_>) -> Result<()> {
    c.set(0, variants::zeros_like(c.input(0)?, 0)?);
    Ok(())
}
