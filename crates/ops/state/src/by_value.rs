//! Values in variants, such as lists and maps: an op that changes one gives a new one, in the memory of the old one where nobody else
//! has that.

use crate::prelude::*;
use std::any::Any;
use std::sync::Mutex;
use thalweg_core::sync::lock;
use thalweg_core::tensor::VariantValue;

pub trait ByValue: Send + Sized + 'static {
    const TYPE_NAME: &'static str;
    /// What errors call it.
    const NAME: &'static str;

    /// The same, sharing its tensors.
    fn copied(&self) -> Result<Self>;
    /// All of it; something is left that nobody looks at.
    fn moved(&mut self) -> Self;
    /// What its gradient begins with. `depth` counts the variants around it.
    fn zeros(&self, depth: u32) -> Result<Self>;
    fn plus(self, other: Self, depth: u32) -> Result<Self>;

    fn into_variant(self) -> Variant {
        Variant::new(Held(Mutex::new(self)))
    }

    fn into_tensor(self) -> Tensor {
        Tensor::from_object(self.into_variant())
    }

    /// The value in a variant: moved out if unshared, else copied.
    fn from_variant(v: Variant) -> Result<Self> {
        let held = v.get::<Held<Self>>().ok_or_else(|| of_another_kind::<Self>(&v))?;
        let alone = v.0.as_ref().is_some_and(|shared| Arc::strong_count(shared) == 1);
        let mut value = lock(&held.0);
        if alone { Ok(value.moved()) } else { value.copied() }
    }

    /// Takes the value in input `i`.
    fn take(c: &mut OpCall<'_>, i: usize) -> Result<Self> {
        let handle = c.take(i)?;
        if !handle.shape().is_scalar() {
            return Err(no_scalar::<Self>(handle.shape()));
        }
        match handle.into_variants()?.pop() {
            Some(v) => Self::from_variant(v),
            None => Err(internal("a scalar without an element")),
        }
    }

    /// Borrows the value in input `i`.
    fn look<R>(c: &OpCall<'_>, i: usize, look: impl FnOnce(&Self) -> Result<R>) -> Result<R> {
        let handle = c.input(i)?;
        match handle.variants()? {
            [v] if handle.shape().is_scalar() => {
                look(&lock(&v.get::<Held<Self>>().ok_or_else(|| of_another_kind::<Self>(v))?.0))
            }
            _ => Err(no_scalar::<Self>(handle.shape())),
        }
    }
}

fn of_another_kind<T: ByValue>(v: &Variant) -> Error {
    invalid!("Input handle is not a {}. Saw: '{v:?}'", T::NAME)
}

fn no_scalar<T: ByValue>(shape: &Shape) -> Error {
    invalid!("Input {} must be a scalar saw: {shape}", T::NAME)
}

/// A value inside a variant. The lock is only for moving it out of an unshared variant, so that a loop that grows it does not copy it
/// in each iteration.
struct Held<T>(Mutex<T>);

impl<T: ByValue> VariantValue for Held<T> {
    fn type_name(&self) -> &'static str {
        T::TYPE_NAME
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn zeros_like(&self, depth: u32) -> Result<Variant> {
        Ok(lock(&self.0).zeros(depth)?.into_variant())
    }
    fn plus(self: Arc<Self>, other: Variant, depth: u32) -> Result<Variant> {
        let this = T::from_variant(Variant(Some(self)))?;
        Ok(this.plus(T::from_variant(other)?, depth)?.into_variant())
    }
}
