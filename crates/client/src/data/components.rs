//! Components of elements: one tensor, or several.

use crate::{IntoTensor, Result, Tensor};

/// The tensors of an element: a tensor, a tuple of values, or a vector of tensors.
pub trait Components {
    /// The tensors, in order.
    fn into_components(self) -> Result<Vec<Tensor>>;
}

impl Components for Vec<Tensor> {
    fn into_components(self) -> Result<Vec<Tensor>> {
        Ok(self)
    }
}

impl Components for Tensor {
    fn into_components(self) -> Result<Vec<Tensor>> {
        Ok(vec![self])
    }
}

impl<A: IntoTensor> Components for (A,) {
    fn into_components(self) -> Result<Vec<Tensor>> {
        Ok(vec![self.0.into_tensor()?])
    }
}

impl<A: IntoTensor, B: IntoTensor> Components for (A, B) {
    fn into_components(self) -> Result<Vec<Tensor>> {
        Ok(vec![self.0.into_tensor()?, self.1.into_tensor()?])
    }
}

impl<A: IntoTensor, B: IntoTensor, C: IntoTensor> Components for (A, B, C) {
    fn into_components(self) -> Result<Vec<Tensor>> {
        Ok(vec![self.0.into_tensor()?, self.1.into_tensor()?, self.2.into_tensor()?])
    }
}
