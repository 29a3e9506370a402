//! Sums of lists, and lists of zeros, for gradients of lists.

use super::list::TensorList;
use crate::prelude::*;

/// Deepest nesting of lists; each is a level of the call stack.
const MAX_DEPTH: u32 = 16;

impl TensorList {
    /// Elementwise; an unset element counts as zero.
    pub fn plus(self, other: TensorList) -> Result<TensorList> {
        self.plus_at(other, 0)
    }

    fn plus_at(mut self, other: TensorList, depth: u32) -> Result<TensorList> {
        if self.dtype != other.dtype {
            return Err(invalid!(
                "Trying to add two lists of tensors of different dtypes. One is {} and the other is {}",
                self.dtype,
                other.dtype
            ));
        }
        if self.items.len() != other.items.len() {
            return Err(invalid!(
                "Trying to add two lists of tensors with different lengths. One is {} and the other is {}",
                self.items.len(),
                other.items.len()
            ));
        }
        self.shape = self.shape.merge(&other.shape)?;
        for (a, b) in self.items.iter_mut().zip(other.items) {
            *a = match (a.take(), b) {
                (Some(a), Some(b)) => Some(sum(a, &b, depth)?),
                (a, b) => a.or(b),
            };
        }
        Ok(self)
    }

    /// A list of as many zeros.
    pub fn zeros(&self) -> Result<TensorList> {
        self.zeros_at(0)
    }

    fn zeros_at(&self, depth: u32) -> Result<TensorList> {
        let zeros = |t: &Option<Tensor>| t.as_ref().map(|t| zero(t, depth)).transpose();
        Ok(self.with_items(reserve::try_collect(self.items.iter().map(zeros))?))
    }
}

fn zero(t: &Tensor, depth: u32) -> Result<Tensor> {
    if t.dtype() != DataType::Variant {
        return Tensor::zeros(t.dtype(), t.shape().clone());
    }
    Ok(inner(t, depth)?.zeros_at(depth + 1)?.into_tensor())
}

/// The list that a tensor holds.
fn inner(t: &Tensor, depth: u32) -> Result<TensorList> {
    match t.variants()? {
        [v] if depth < MAX_DEPTH => TensorList::from_variant(v.clone()),
        [_] => Err(invalid!("lists lie within lists more than {MAX_DEPTH} deep")),
        many => Err(unimplemented(format_args!("the sum of lists of {} variants", many.len()))),
    }
}

fn sum(a: Tensor, b: &Tensor, depth: u32) -> Result<Tensor> {
    if a.shape() != b.shape() || a.dtype() != b.dtype() {
        return Err(invalid!(
            "cannot add elements of lists: {} {} and {} {}",
            a.dtype(),
            a.shape(),
            b.dtype(),
            b.shape()
        ));
    }
    match a.dtype() {
        DataType::Variant => Ok(inner(&a, depth)?.plus_at(inner(b, depth)?, depth + 1)?.into_tensor()),
        DataType::Float => add::<f32>(a, b),
        DataType::Double => add::<f64>(a, b),
        DataType::Half => add::<f16>(a, b),
        DataType::Bfloat16 => add::<bf16>(a, b),
        DataType::Int32 => add::<i32>(a, b),
        DataType::Int64 => add::<i64>(a, b),
        DataType::Complex64 => add::<Complex32>(a, b),
        DataType::Complex128 => add::<ComplexDouble>(a, b),
        other => Err(unimplemented(format_args!("the sum of lists of {other} elements"))),
    }
}

fn add<T: Number>(mut a: Tensor, b: &Tensor) -> Result<Tensor> {
    for (a, b) in a.as_mut_slice::<T>()?.iter_mut().zip(b.as_slice::<T>()?) {
        *a = a.add(*b);
    }
    Ok(a)
}
