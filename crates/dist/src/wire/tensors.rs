//! Tensors in messages: feeds, fetches, and large contents that are not copied.

use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::tensor::Tensor;
use thalweg_graph::convert::{shape_from_proto, tensor_from_proto, tensor_to_proto};
use thalweg_proto::{NamedTensorProto, TensorProto};

/// Contents of a message's large tensors, as tensors of bytes.
#[derive(Clone, Default)]
pub struct Contents(Vec<Tensor>);

impl Contents {
    /// The tensor of a message, not copied if its content is here.
    pub fn tensor(&self, message: &TensorProto) -> Result<Tensor> {
        let content = &message.tensor_content;
        let found = self.0.iter().find(|t| t.bytes().is_ok_and(|b| std::ptr::eq(b, &content[..])));
        match (found, DataType::from_wire(message.dtype)) {
            (Some(bytes), Some(dtype)) if dtype.is_plain() => {
                bytes.clone().bytes_as(dtype, shape_from_proto(message.tensor_shape.as_ref())?)
            }
            _ => tensor_from_proto(message),
        }
    }

    pub fn push(&mut self, content: Tensor) {
        self.0.push(content);
    }

    #[cfg(test)]
    pub fn first(&self) -> &Tensor {
        &self.0[0]
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// Names and values of feeds.
pub fn feeds(fed: Vec<NamedTensorProto>, contents: Contents) -> Result<(Vec<String>, Vec<Tensor>)> {
    let mut names = Vec::with_capacity(fed.len());
    let mut values = Vec::with_capacity(fed.len());
    for feed in fed {
        let value = contents.tensor(feed.tensor.as_ref().unwrap_or(&Default::default()));
        values.push(value.map_err(|e| e.context(format_args!("feed '{}'", feed.name)))?);
        names.push(feed.name);
    }
    Ok((names, values))
}

/// Fetched values under their names.
pub fn named(names: Vec<String>, values: &[Tensor]) -> Result<Vec<NamedTensorProto>> {
    let named = |(name, value): (String, &Tensor)| match tensor_to_proto(value) {
        Ok(tensor) => Ok(NamedTensorProto { name, tensor: Some(tensor) }),
        Err(e) => Err(e.context(format_args!("fetch '{name}'"))),
    };
    names.into_iter().zip(values).map(named).collect()
}
