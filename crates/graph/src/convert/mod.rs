//! Between our values and protocol messages: shapes, tensors, attrs.

mod attr;
mod shape;
mod tensor;

pub use attr::{attr_from_proto, attr_to_proto, attrs_from_proto, attrs_to_proto};
pub use shape::{partial_shape_from_proto, partial_shape_to_proto, shape_from_proto, shape_to_proto};
pub use tensor::{tensor_from_proto, tensor_to_proto};
