//! Variants that are tensors, so that they can be elements of datasets, lists and batches: `Held`, one tensor, as parts of
//! serialised sparse tensors are; `Ragged`, a ragged tensor.

use crate::prelude::*;
use crate::variants;
use bytes::Bytes;
use std::any::Any;
use std::borrow::Cow;
use thalweg_core::tensor::{EncodedVariant, VariantValue};

pub struct Held(pub Tensor);

/// TensorFlow's names for the types.
const HELD: &str = "tensorflow::Tensor";
const RAGGED: &str = "RaggedTensorVariant";

impl Held {
    /// The tensor in a variant, if it is one.
    pub fn of(v: &Variant) -> Option<Tensor> {
        if let Some(held) = v.get::<Held>() {
            return Some(held.0.clone());
        }
        match &read(v, HELD)?.tensors[..] {
            [one] => Some(one.clone()),
            _ => None,
        }
    }
}

/// A variant of this type as it was read from a message or a checkpoint.
fn read<'a>(v: &'a Variant, type_name: &str) -> Option<&'a EncodedVariant> {
    v.get::<EncodedVariant>().filter(|read| read.type_name == type_name)
}

fn encoded(type_name: &str, tensors: Vec<Tensor>) -> EncodedVariant {
    EncodedVariant { type_name: type_name.into(), metadata: Bytes::new(), tensors }
}

impl VariantValue for Held {
    fn type_name(&self) -> &'static str {
        HELD
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn encode(&self) -> Result<EncodedVariant> {
        Ok(encoded(HELD, vec![self.0.clone()]))
    }
}

/// A ragged tensor: splits from the outermost dimension on, and values.
#[derive(Clone)]
pub struct Ragged {
    pub splits: Vec<Tensor>,
    pub values: Tensor,
}

impl Ragged {
    /// The ragged tensor in a variant, if it is one.
    pub fn of(v: &Variant) -> Option<Cow<'_, Ragged>> {
        if let Some(held) = v.get::<Ragged>() {
            return Some(Cow::Borrowed(held));
        }
        let (values, splits) = read(v, RAGGED)?.tensors.split_last()?;
        Some(Cow::Owned(Ragged { splits: splits.to_vec(), values: values.clone() }))
    }
}

impl VariantValue for Ragged {
    fn type_name(&self) -> &'static str {
        RAGGED
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn encode(&self) -> Result<EncodedVariant> {
        let tensors = self.splits.iter().chain([&self.values]).cloned();
        Ok(encoded(RAGGED, reserve::collect(tensors)?))
    }
    fn zeros_like(&self, depth: u32) -> Result<Variant> {
        let splits = reserve::copied(&self.splits)?;
        Ok(Variant::new(Ragged { splits, values: variants::zeros_like(&self.values, depth)? }))
    }
    fn plus(self: Arc<Self>, other: Variant, depth: u32) -> Result<Variant> {
        let Some(other) = Ragged::of(&other) else {
            return Err(invalid!("cannot add a ragged tensor and {other:?}"));
        };
        let same = self.splits.len() == other.splits.len()
            && self.splits.iter().zip(&other.splits).all(|(a, b)| a.same_bits(b));
        if !same {
            return Err(invalid!("Can't add ragged tensors of other row splits"));
        }
        let values = variants::sum(self.values.clone(), other.values.clone(), depth)?;
        Ok(Variant::new(Ragged { splits: reserve::copied(&self.splits)?, values }))
    }
}
