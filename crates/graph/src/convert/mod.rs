//! Conversion to and from protocol messages: attrs and op signatures here, shapes and tensors in `thalweg_io::wire`.

mod attr;
mod op;

pub use attr::{attr_from_proto, attr_to_proto, attrs_from_proto, attrs_to_proto};
pub use op::op_to_proto;
pub use thalweg_io::wire::{
    partial_shape_from_proto, partial_shape_to_proto, shape_from_proto, shape_to_proto, tensor_from_proto,
    tensor_to_proto,
};
