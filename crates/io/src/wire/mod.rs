//! Tensors and shapes as protocol messages, in graphs, requests and event files.

mod shape;
mod tensor;

pub use shape::{partial_shape_from_proto, partial_shape_to_proto, shape_from_proto, shape_to_proto};
pub use tensor::{tensor_from_proto, tensor_to_proto, variant_from_bytes, variant_to_bytes};
