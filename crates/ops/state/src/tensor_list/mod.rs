//! Lists of tensors: immutable values.

mod concat;
mod concat_lists;
mod empty_tensor_list;
mod gather;
mod item;
mod length;
mod list;
mod push_back;
mod stack;
mod sum;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &empty_tensor_list::EMPTY_TENSOR_LIST,
    &empty_tensor_list::TENSOR_LIST_RESERVE,
    &empty_tensor_list::TENSOR_LIST_RESIZE,
    &push_back::TENSOR_LIST_PUSH_BACK,
    &push_back::TENSOR_LIST_POP_BACK,
    &push_back::TENSOR_LIST_PUSH_BACK_BATCH,
    &length::TENSOR_LIST_LENGTH,
    &length::TENSOR_LIST_ELEMENT_SHAPE,
    &item::TENSOR_LIST_GET_ITEM,
    &item::TENSOR_LIST_SET_ITEM,
    &stack::TENSOR_LIST_STACK,
    &stack::TENSOR_LIST_FROM_TENSOR,
    &gather::TENSOR_LIST_GATHER,
    &gather::TENSOR_LIST_SCATTER,
    &gather::TENSOR_LIST_SCATTER_V2,
    &gather::TENSOR_LIST_SCATTER_INTO_EXISTING_LIST,
    &concat::TENSOR_LIST_CONCAT,
    &concat::TENSOR_LIST_CONCAT_V2,
    &concat::TENSOR_LIST_SPLIT,
    &concat_lists::TENSOR_LIST_CONCAT_LISTS,
];

#[cfg(test)]
mod tests;
