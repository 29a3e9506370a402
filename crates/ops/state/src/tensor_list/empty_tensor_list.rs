//! `EmptyTensorList`, `TensorListReserve`, `TensorListResize`: list sizes.

use super::list::{TensorList, shape_input, size_input};
use crate::by_value::ByValue;
use crate::prelude::*;

pub static EMPTY_TENSOR_LIST: Op = Op {
    name: "EmptyTensorList",
    doc: "An empty list, for at most max_num_elements (no limit if negative).",
    inputs: &["element_shape: shape_type", "max_num_elements: int32"],
    outputs: &["handle: variant"],
    attrs: &["element_dtype: type", "shape_type: {int32, int64}"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(empty),
    ..Op::PURE
};

fn empty(c: &mut OpCall<'_>) -> Result<()> {
    let mut list = TensorList::new(c.attrs().dtype("element_dtype")?, shape_input(c, 0)?);
    list.max = usize::try_from(c.scalar::<i32>(1)?).ok();
    c.set(0, list.into_tensor());
    Ok(())
}

pub static TENSOR_LIST_RESERVE: Op = Op {
    name: "TensorListReserve",
    doc: "A list of num_elements elements that are not set.",
    inputs: &["element_shape: shape_type", "num_elements: int32"],
    kernels: cpu!(reserve),
    ..EMPTY_TENSOR_LIST
};

fn reserve(c: &mut OpCall<'_>) -> Result<()> {
    let mut list = TensorList::new(c.attrs().dtype("element_dtype")?, shape_input(c, 0)?);
    list.resize(size_input(c, 1, "The num_elements to reserve")?)?;
    c.set(0, list.into_tensor());
    Ok(())
}

pub static TENSOR_LIST_RESIZE: Op = Op {
    name: "TensorListResize",
    doc: "The list truncated, or extended by elements not set, to `size` elements.",
    inputs: &["input_handle: variant", "size: int32"],
    outputs: &["output_handle: variant"],
    shape: shape_call::scalar,
    grad: Rule(|g| {
        let (list, dy) = (g.x[0], g.dy()?);
        let size = g.unary("TensorListLength", list)?;
        Ok(vec![g.binary("TensorListResize", dy, size)?.into(), Grad::None])
    }),
    kernels: cpu!(resize),
    ..Op::PURE
};

fn resize(c: &mut OpCall<'_>) -> Result<()> {
    let size = size_input(c, 1, "TensorListSlice expects size to be non-negative: size")?;
    let mut list = TensorList::take(c, 0)?;
    list.resize(size)?;
    c.set(0, list.into_tensor());
    Ok(())
}
