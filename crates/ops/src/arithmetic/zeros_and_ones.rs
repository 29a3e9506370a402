//! Tensors of zeros or ones, in the type and shape of the input.

use crate::prelude::*;
use crate::tensor_list::TensorList;

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
    doc: "A tensor of zeros (empty strings) of the type and shape of x; for a list, a list of such.",
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
    if c.input(0)?.dtype() == DataType::Variant {
        let zeros = TensorList::look(c, 0, TensorList::zeros)?;
        c.set(0, zeros.into_tensor());
        return Ok(());
    }
    let x = c.input(0)?;
    if x.dtype() == DataType::Resource {
        return Err(unimplemented(format_args!("there are no zeros of type {}", x.dtype())));
    }
    let zeros = Tensor::zeros(x.dtype(), x.shape().clone())?;
    c.set(0, zeros);
    Ok(())
}
