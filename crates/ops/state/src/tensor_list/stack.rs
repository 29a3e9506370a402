//! `TensorListStack`, `TensorListFromTensor`: a list stacked to one tensor.

use super::list::{TensorList, merged, shape_argument, shape_input, shape_of_rows};
use crate::by_value::ByValue;
use crate::prelude::*;
use crate::rows::{stack, unstack};

pub static TENSOR_LIST_STACK: Op = Op {
    name: "TensorListStack",
    doc: "The elements stacked along a new first dimension; zeros where one was not set.",
    inputs: &["input_handle: variant", "element_shape: int32"],
    outputs: &["tensor: element_dtype"],
    attrs: &["element_dtype: type", "num_elements: int = -1"],
    shape: |c| {
        let n = PartialShape::vector(c.attrs.int("num_elements")?);
        Ok(vec![n.concat(&shape_argument(c, 1)?)])
    },
    grad: Rule(|g| {
        let dy = g.dy()?;
        let shape = shape_of_rows(g, dy)?;
        Ok(vec![g.binary("TensorListFromTensor", dy, shape)?.into(), Grad::None])
    }),
    kernels: cpu!(run),
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (asked, n, dtype) = (shape_input(c, 1)?, c.attrs().int("num_elements")?, c.output_type(0)?);
    let out = TensorList::look(c, 0, |list| {
        list.check_type(dtype)?;
        let have = list.items.len();
        if n >= 0 && have as i64 != n {
            return Err(invalid!(
                "Operation expected a list with {n} elements but got a list with {have} elements."
            ));
        }
        stacked(list, reserve::collect(0..have)?, &asked, "stack")
    })?;
    c.set(0, out);
    Ok(())
}

/// Elements at these indices, stacked. `what` the op does, for errors.
pub fn stacked(list: &TensorList, indices: Vec<usize>, asked: &PartialShape, what: &str) -> Result<Tensor> {
    let mut known = merged(asked, &list.shape)?;
    if indices.is_empty() {
        let each = known.to_shape().ok_or_else(|| {
            invalid!(
                "Tried to {what} elements of an empty list with non-fully-defined element_shape: {known}"
            )
        })?;
        return stack(list.dtype, &each, &[]);
    }
    for set in indices.iter().filter_map(|i| list.items.get(*i)?.as_ref()) {
        if known.is_fully_known() {
            break;
        }
        known = merged(&known, &set.shape().into())?;
    }
    if !known.is_fully_known() {
        return Err(invalid!(
            "Tried to {what} uninitialized tensors from a list with non-fully-defined element_shape: {known}"
        ));
    }
    let rows = list.all_of(indices.into_iter(), &known)?;
    if let Some(odd) = rows.iter().find(|r| !known.allows(r.shape())) {
        merged(&known, &odd.shape().into())?;
    }
    let each = rows.first().map(|r| r.shape().clone()).unwrap_or_default();
    stack(list.dtype, &each, &rows)
}

pub static TENSOR_LIST_FROM_TENSOR: Op = Op {
    name: "TensorListFromTensor",
    doc: "A list of the rows of a tensor.",
    inputs: &["tensor: element_dtype", "element_shape: shape_type"],
    outputs: &["output_handle: variant"],
    attrs: &["element_dtype: type", "shape_type: {int32, int64}"],
    shape: |c| {
        let (tensor, asked) = (c.rank_at_least(0, 1)?, shape_argument(c, 1)?);
        if let Some(dims) = tensor.dims() {
            dims[1..].iter().copied().collect::<PartialShape>().merge(&asked)?;
        }
        Ok(vec![PartialShape::scalar()])
    },
    grad: Rule(|g| {
        let (tensor, dlist) = (g.x[0], g.dy()?);
        let shape = shape_of_rows(g, tensor)?;
        let dtype = [("element_dtype", Attr::Type(g.graph.dtype(tensor)))];
        let rows = g.op("TensorListStack", [dlist.into(), shape.into()], &dtype)?;
        Ok(vec![rows.into(), Grad::None])
    }),
    kernels: cpu!(from_tensor),
    ..Op::PURE
};

fn from_tensor(c: &mut OpCall<'_>) -> Result<()> {
    let (asked, tensor) = (shape_input(c, 1)?, c.input(0)?);
    if tensor.rank() == 0 {
        return Err(invalid!("Tensor must be at least a vector, but saw shape: []"));
    }
    let each = tensor.shape().without(0);
    if !asked.allows(&each) {
        return Err(invalid!("Specified a list with shape {asked} from a tensor with shape {each}"));
    }
    let mut list = TensorList::new(tensor.dtype(), asked);
    list.items = reserve::collect(unstack(tensor)?.into_iter().map(Some))?;
    c.set(0, list.into_tensor());
    Ok(())
}
