//! Zeros and sums of tensors whose elements may be variants: lists of tensors, optionals. Gradients of both are made of them.

use crate::prelude::*;

/// Deepest nesting of variants; each is a level of the call stack.
const MAX_DEPTH: u32 = 16;

/// Zeros of the type and shape of `t`. `depth` counts the variants around it.
pub fn zeros_like(t: &Tensor, depth: u32) -> Result<Tensor> {
    match t.dtype() {
        DataType::Variant => {
            check_depth(depth)?;
            let zeros = t.variants()?.iter().map(|v| match &v.0 {
                Some(value) => value.zeros_like(depth + 1),
                None => Ok(Variant::default()),
            });
            Tensor::from_objects(t.shape().clone(), reserve::try_collect(zeros)?)
        }
        DataType::Resource => {
            Err(unimplemented(format_args!("zeros_like for unsupported dtype {}", t.dtype())))
        }
        plain => Tensor::zeros(plain, t.shape().clone()),
    }
}

/// a + b, of one type and shape; in a's memory where it is not shared.
pub fn sum(a: Tensor, b: Tensor, depth: u32) -> Result<Tensor> {
    if a.shape() != b.shape() || a.dtype() != b.dtype() {
        return Err(invalid!(
            "cannot add elements: {} {} and {} {}",
            a.dtype(),
            a.shape(),
            b.dtype(),
            b.shape()
        ));
    }
    match a.dtype() {
        DataType::Variant => sum_of_variants(a, b, depth),
        DataType::Float => add::<f32>(a, b),
        DataType::Double => add::<f64>(a, b),
        DataType::Half => add::<f16>(a, b),
        DataType::Bfloat16 => add::<bf16>(a, b),
        DataType::Int32 => add::<i32>(a, b),
        DataType::Int64 => add::<i64>(a, b),
        DataType::Complex64 => add::<Complex32>(a, b),
        DataType::Complex128 => add::<ComplexDouble>(a, b),
        other => Err(unimplemented(format_args!("the sum of variants with {other} elements"))),
    }
}

fn sum_of_variants(a: Tensor, b: Tensor, depth: u32) -> Result<Tensor> {
    check_depth(depth)?;
    let shape = a.shape().clone();
    // Each value is moved: a list that nobody else has is added to in place.
    let sums = a.into_variants()?.into_iter().zip(b.into_variants()?).map(|(mut a, b)| match a.0.take() {
        Some(value) => value.plus(b, depth + 1),
        None => Err(invalid!("cannot add an empty variant to {b:?}")),
    });
    Tensor::from_objects(shape, reserve::try_collect(sums)?)
}

fn check_depth(depth: u32) -> Result<()> {
    if depth >= MAX_DEPTH {
        return Err(invalid!("variants lie within variants more than {MAX_DEPTH} deep"));
    }
    Ok(())
}

fn add<T: Number>(mut a: Tensor, b: Tensor) -> Result<Tensor> {
    for (a, b) in a.as_mut_slice::<T>()?.iter_mut().zip(b.as_slice::<T>()?) {
        *a = a.add(*b);
    }
    Ok(a)
}
