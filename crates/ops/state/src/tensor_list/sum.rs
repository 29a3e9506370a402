//! Lists as values of variants: copies; sums and zeros, for gradients.

use super::list::TensorList;
use crate::by_value::ByValue;
use crate::prelude::*;
use crate::variants;

impl ByValue for TensorList {
    const TYPE_NAME: &'static str = "tensorflow::TensorList";
    const NAME: &'static str = "list";

    fn copied(&self) -> Result<TensorList> {
        Ok(self.with_items(reserve::copied(&self.items)?))
    }

    fn moved(&mut self) -> TensorList {
        let items = std::mem::take(&mut self.items);
        self.with_items(items)
    }

    /// Elementwise; an unset element counts as zero.
    fn plus(mut self, other: TensorList, depth: u32) -> Result<TensorList> {
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
                (Some(a), Some(b)) => Some(variants::sum(a, b, depth)?),
                (a, b) => a.or(b),
            };
        }
        Ok(self)
    }

    /// A list of as many zeros.
    fn zeros(&self, depth: u32) -> Result<TensorList> {
        let zeros = |t: &Option<Tensor>| t.as_ref().map(|t| variants::zeros_like(t, depth)).transpose();
        Ok(self.with_items(reserve::try_collect(self.items.iter().map(zeros))?))
    }
}
