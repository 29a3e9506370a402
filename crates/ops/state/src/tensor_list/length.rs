//! `TensorListLength`, `TensorListElementShape`: properties of a list.

use super::list::TensorList;
use crate::by_value::ByValue;
use crate::convert::int_tensor;
use crate::prelude::*;

pub static TENSOR_LIST_LENGTH: Op = Op {
    name: "TensorListLength",
    doc: "The number of elements of the list.",
    inputs: &["input_handle: variant"],
    outputs: &["length: int32"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(length),
    ..Op::PURE
};

fn length(c: &mut OpCall<'_>) -> Result<()> {
    let n = TensorList::look(c, 0, |list| Ok(list.items.len()))?;
    c.set(0, Tensor::scalar(i32::try_from(n).unwrap_or(i32::MAX)));
    Ok(())
}

pub static TENSOR_LIST_ELEMENT_SHAPE: Op = Op {
    name: "TensorListElementShape",
    doc: "The shape of the list's elements, -1 where it is not known.",
    inputs: &["input_handle: variant"],
    outputs: &["element_shape: shape_type"],
    attrs: &["shape_type: {int32, int64}"],
    grad: Stops,
    kernels: cpu!(element_shape),
    ..Op::PURE
};

fn element_shape(c: &mut OpCall<'_>) -> Result<()> {
    let dtype = c.output_type(0)?;
    let shape = TensorList::look(c, 0, |list| Ok(list.shape.clone()))?;
    let out = match shape.dims() {
        Some(dims) => int_tensor(dtype, dims)?,
        None => int_tensor(dtype, &[-1])?.reshape(Shape::scalar())?,
    };
    c.set(0, out);
    Ok(())
}
