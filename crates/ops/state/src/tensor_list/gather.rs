//! `TensorListGather`, `TensorListScatter`, `TensorListScatterV2`, `TensorListScatterIntoExistingList`: chosen elements.

use super::list::{TensorList, element_shape_of, shape_argument, shape_input, shape_of_rows};
use super::stack::stacked;
use crate::by_value::ByValue;
use crate::prelude::*;
use crate::rows::row;

pub static TENSOR_LIST_GATHER: Op = Op {
    name: "TensorListGather",
    doc: "The elements at `indices`, stacked.",
    inputs: &["input_handle: variant", "indices: int32", "element_shape: int32"],
    outputs: &["values: element_dtype"],
    attrs: &["element_dtype: type"],
    shape: |c| {
        let n = c.rank(1, 1)?.dim(0);
        Ok(vec![PartialShape::vector(n).concat(&shape_argument(c, 2)?)])
    },
    grad: Rule(|g| {
        let (list, indices, dy) = (g.x[0], g.x[1], g.dy()?);
        let (shape, length) = (element_shape_of(g, list)?, g.unary("TensorListLength", list)?);
        let args = [dy.into(), indices.into(), shape.into(), length.into()];
        Ok(vec![g.op("TensorListScatterV2", args, &[])?.into(), Grad::None, Grad::None])
    }),
    kernels: cpu!(gather),
    ..Op::PURE
};

fn gather(c: &mut OpCall<'_>) -> Result<()> {
    let (indices, asked, dtype) = (c.int_vector(1)?, shape_input(c, 2)?, c.output_type(0)?);
    let out = TensorList::look(c, 0, |list| {
        list.check_type(dtype)?;
        let n = list.items.len();
        let place = |i: &i64| match usize::try_from(*i) {
            Ok(at) if at < n => Ok(at),
            _ => Err(invalid!("Trying to gather element {i} in a list with {n} elements.")),
        };
        stacked(list, reserve::try_collect(indices.iter().map(place))?, &asked, "gather")
    })?;
    c.set(0, out);
    Ok(())
}

pub static TENSOR_LIST_SCATTER: Op = Op {
    name: "TensorListScatter",
    doc: "A list that has the rows of `tensor` at `indices`, as long as the largest index requires.",
    inputs: &["tensor: element_dtype", "indices: int32", "element_shape: shape_type"],
    outputs: &["output_handle: variant"],
    attrs: &["element_dtype: type", "shape_type: {int32, int64}"],
    shape: shape_call::scalar,
    grad: Rule(grad_of_scatter),
    kernels: cpu!(scatter),
    ..Op::PURE
};

pub static TENSOR_LIST_SCATTER_V2: Op = Op {
    name: "TensorListScatterV2",
    doc: "A list of num_elements elements that has the rows of `tensor` at `indices`.",
    inputs: &["tensor: element_dtype", "indices: int32", "element_shape: shape_type", "num_elements: int32"],
    ..TENSOR_LIST_SCATTER
};

fn grad_of_scatter(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (tensor, indices, dlist) = (g.x[0], g.x[1], g.dy()?);
    let shape = shape_of_rows(g, tensor)?;
    let dtype = [("element_dtype", Attr::Type(g.graph.dtype(tensor)))];
    let rows = g.op("TensorListGather", [dlist.into(), indices.into(), shape.into()], &dtype)?;
    let mut grads = vec![Grad::None; g.x.len()];
    grads[0] = rows.into();
    Ok(grads)
}

fn scatter(c: &mut OpCall<'_>) -> Result<()> {
    let (tensor, indices, asked) = (c.input(0)?, c.int_vector(1)?, shape_input(c, 2)?);
    let size = match c.inputs.len() {
        4 => match c.scalar::<i32>(3)? {
            -1 => None,
            n => Some(
                usize::try_from(n)
                    .map_err(|_| invalid!("TensorListScatter expects num_elements >= -1, found: {n}"))?,
            ),
        },
        _ => None,
    };
    let mut list = TensorList::new(tensor.dtype(), asked);
    if let Some(size) = size {
        if let Some(i) = indices.iter().find(|i| **i >= size as i64) {
            return Err(invalid!(
                "TensorListScatter: Trying to scatter at index {i} in list with size {size}"
            ));
        }
        list.resize(size)?;
    }
    put_rows(&mut list, tensor, &indices)?;
    c.set(0, list.into_tensor());
    Ok(())
}

/// Sets elements to the rows of a tensor; the list grows if needed.
fn put_rows(list: &mut TensorList, tensor: &Tensor, indices: &[i64]) -> Result<()> {
    if tensor.rank() == 0 || tensor.shape()[0] != indices.len() {
        return Err(invalid!(
            "Invalid number of rows in input tensor. Expected: {} Actual: {}",
            indices.len(),
            tensor.shape().first().unwrap_or(&0)
        ));
    }
    if !list.shape.allows(&tensor.shape().without(0)) {
        return Err(invalid!(
            "Specified a list with shape {} from a tensor with shape {}",
            list.shape,
            tensor.shape().without(0)
        ));
    }
    let place = |i: &i64| {
        usize::try_from(*i).map_err(|_| invalid!("Indices in TensorListScatter must all be non-negative."))
    };
    let at = reserve::try_collect(indices.iter().map(place))?;
    let needed = at.iter().max().map_or(0, |m| m + 1);
    if needed > list.items.len() {
        list.resize(needed)?;
    }
    for (i, at) in at.into_iter().enumerate() {
        list.items[at] = Some(row(tensor, i)?);
    }
    Ok(())
}

pub static TENSOR_LIST_SCATTER_INTO_EXISTING_LIST: Op = Op {
    name: "TensorListScatterIntoExistingList",
    doc: "The list with the rows of `tensor` at `indices`.",
    inputs: &["input_handle: variant", "tensor: element_dtype", "indices: int32"],
    outputs: &["output_handle: variant"],
    attrs: &["element_dtype: type"],
    shape: shape_call::scalar,
    kernels: cpu!(into_existing),
    ..Op::PURE
};

fn into_existing(c: &mut OpCall<'_>) -> Result<()> {
    let (tensor, indices) = (c.take(1)?, c.int_vector(2)?);
    let mut list = TensorList::take(c, 0)?;
    list.check_type(tensor.dtype())?;
    put_rows(&mut list, &tensor, &indices)?;
    c.set(0, list.into_tensor());
    Ok(())
}
