//! Tensor arrays: tensors by index, written once, per step.

mod close;
pub mod concat;
mod gather;
mod older;
mod read;
mod resource;
mod size;
mod tensor_array_grad_v3;
mod tensor_array_v3;
mod write;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![OF_RESOURCES, older::OPS];

static OF_RESOURCES: &[&Op] = &[
    &tensor_array_v3::TENSOR_ARRAY_V3,
    &tensor_array_grad_v3::TENSOR_ARRAY_GRAD_V3,
    &tensor_array_grad_v3::TENSOR_ARRAY_GRAD_WITH_SHAPE,
    &write::TENSOR_ARRAY_WRITE_V3,
    &read::TENSOR_ARRAY_READ_V3,
    &gather::TENSOR_ARRAY_GATHER_V3,
    &gather::TENSOR_ARRAY_SCATTER_V3,
    &concat::TENSOR_ARRAY_CONCAT_V3,
    &concat::TENSOR_ARRAY_SPLIT_V3,
    &size::TENSOR_ARRAY_SIZE_V3,
    &close::TENSOR_ARRAY_CLOSE_V3,
];

#[cfg(test)]
mod tests;
