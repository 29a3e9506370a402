//! `TensorListPushBack`, `TensorListPopBack`, `TensorListPushBackBatch`: push and pop.

use super::list::{TensorList, element_shape_of, merged, shape_argument, shape_input};
use crate::by_value::ByValue;
use crate::prelude::*;
use crate::rows::row;

pub static TENSOR_LIST_PUSH_BACK: Op = Op {
    name: "TensorListPushBack",
    doc: "The list with an element appended.",
    inputs: &["input_handle: variant", "tensor: element_dtype"],
    outputs: &["output_handle: variant"],
    attrs: &["element_dtype: type"],
    shape: shape_call::scalar,
    grad: Rule(|g| {
        let (tensor, dlist) = (g.x[1], g.dy()?);
        let shape = g.shape_of(tensor)?;
        let dtype = [("element_dtype", Attr::Type(g.graph.dtype(tensor)))];
        let popped = g.ops("TensorListPopBack", [dlist.into(), shape.into()], &dtype)?;
        Ok(popped.into_iter().map(Grad::Dense).collect())
    }),
    kernels: cpu!(push),
    ..Op::PURE
};

fn push(c: &mut OpCall<'_>) -> Result<()> {
    let tensor = c.take(1)?;
    let mut list = TensorList::take(c, 0)?;
    append(&mut list, tensor, "")?;
    c.set(0, list.into_tensor());
    Ok(())
}

/// `place` says which list of several it is, in errors.
fn append(list: &mut TensorList, tensor: Tensor, place: &str) -> Result<()> {
    list.check_type(tensor.dtype())?;
    if !list.shape.allows(tensor.shape()) {
        return Err(invalid!(
            "Tried to append a tensor with incompatible shape to a list{place}. Op element shape: {} list shape: {}",
            tensor.shape(),
            list.shape
        ));
    }
    if let Some(max) = list.max.filter(|max| list.items.len() >= *max) {
        return Err(invalid!(
            "Tried to push item into a full list list size: {} max_num_elements: {max}",
            list.items.len()
        ));
    }
    reserve::push(&mut list.items, Some(tensor))
}

pub static TENSOR_LIST_POP_BACK: Op = Op {
    name: "TensorListPopBack",
    doc: "The list without its last element, and that element.",
    inputs: &["input_handle: variant", "element_shape: int32"],
    outputs: &["output_handle: variant", "tensor: element_dtype"],
    attrs: &["element_dtype: type"],
    shape: |c| Ok(vec![PartialShape::scalar(), shape_argument(c, 1)?]),
    grad: Rule(grad_of_pop),
    kernels: cpu!(pop),
    ..Op::PURE
};

fn grad_of_pop(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (list, tensor) = (g.y[0], g.dy_or_zeros(1)?);
    let dlist = match g.dy.first().copied().flatten() {
        Some(dlist) => dlist,
        None => {
            let shape = element_shape_of(g, list)?;
            let no_limit = g.constant(Tensor::scalar(-1i32))?;
            let dtype = [("element_dtype", Attr::Type(g.graph.dtype(tensor)))];
            g.op("EmptyTensorList", [shape.into(), no_limit.into()], &dtype)?
        }
    };
    Ok(vec![g.binary("TensorListPushBack", dlist, tensor)?.into(), Grad::None])
}

fn pop(c: &mut OpCall<'_>) -> Result<()> {
    let (asked, dtype) = (shape_input(c, 1)?, c.output_type(1)?);
    let mut list = TensorList::take(c, 0)?;
    list.check_type(dtype)?;
    merged(&asked, &list.shape)?;
    let tensor = match list.items.pop() {
        Some(Some(t)) => t,
        Some(None) => Tensor::zeros(dtype, list.unset_shape(&asked)?)?,
        None => return Err(invalid!("Trying to pop from an empty list.")),
    };
    if !asked.allows(tensor.shape()) {
        merged(&asked, &tensor.shape().into())?;
    }
    c.set(0, list.into_tensor());
    c.set(1, tensor);
    Ok(())
}

pub static TENSOR_LIST_PUSH_BACK_BATCH: Op = Op {
    name: "TensorListPushBackBatch",
    doc: "Each list with its row of `tensor` appended.",
    inputs: &["input_handles: variant", "tensor: element_dtype"],
    outputs: &["output_handles: variant"],
    attrs: &["element_dtype: type"],
    shape: |c| {
        let (lists, tensor) = (c.input(0), c.rank_at_least(1, 1)?);
        if let (Some(1), Some(_)) = (lists.rank(), tensor.rank()) {
            merge_dim(lists.dim(0), tensor.dim(0))?;
        }
        Ok(vec![lists])
    },
    kernels: cpu!(push_batch),
    ..Op::PURE
};

fn push_batch(c: &mut OpCall<'_>) -> Result<()> {
    let (shape, tensor) = (c.shape(0)?.clone(), c.input(1)?.clone());
    if shape.rank() != 1 || tensor.shape().first() != shape.first() {
        return Err(invalid!(
            "Expected tensor.shape[0] == input_handles.size, but saw {} vs. {shape}",
            tensor.shape()
        ));
    }
    let mut lists = Vec::new();
    for (i, v) in c.take(0)?.into_variants()?.into_iter().enumerate() {
        let mut list = TensorList::from_variant(v)?;
        append(&mut list, row(&tensor, i)?, &format!(" at index {i}"))?;
        reserve::push(&mut lists, list.into_variant())?;
    }
    c.set(0, Tensor::from_objects(shape, lists)?);
    Ok(())
}
