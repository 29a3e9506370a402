//! `TensorListConcat`, `TensorListConcatV2`, `TensorListSplit`: a list concatenated to one tensor; the inverse.

use super::list::{TensorList, merged, shape_argument, shape_input};
use crate::by_value::ByValue;
use crate::prelude::*;
use crate::tensor_array::concat::{concat_pieces, split_pieces};

pub static TENSOR_LIST_CONCAT_V2: Op = Op {
    name: "TensorListConcatV2",
    doc: "The elements concatenated along their first dimension, and the lengths.",
    inputs: &["input_handle: variant", "element_shape: shape_type", "leading_dims: int64"],
    outputs: &["tensor: element_dtype", "lengths: int64"],
    attrs: &["element_dtype: type", "shape_type: {int32, int64}"],
    shape: |c| joined_shape(&shape_argument(c, 1)?),
    grad: Rule(grad_of_concat),
    kernels: cpu!(concat_v2),
    ..Op::PURE
};

pub static TENSOR_LIST_CONCAT: Op = Op {
    name: "TensorListConcat",
    inputs: &["input_handle: variant"],
    attrs: &["element_dtype: type", "element_shape: shape = { unknown_rank: true }"],
    shape: |c| joined_shape(c.attrs.shape("element_shape")?),
    kernels: cpu!(concat_v1),
    ..TENSOR_LIST_CONCAT_V2
};

fn joined_shape(element: &PartialShape) -> Result<Vec<PartialShape>> {
    let joined = match element.dims() {
        Some([]) => return Err(scalars()),
        Some([_, rest @ ..]) => [&[-1], rest].concat().into_iter().collect(),
        None => PartialShape::unknown(),
    };
    Ok(vec![joined, PartialShape::vector(-1)])
}

fn scalars() -> Error {
    invalid!("Concat requires elements to be at least vectors, found scalars instead.")
}

fn grad_of_concat(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (lengths, dy) = (g.y[1], g.dy()?);
    let any = g.constant(Tensor::scalar(-1i32))?;
    let dlist = g.op("TensorListSplit", [dy.into(), any.into(), lengths.into()], &[])?;
    let mut grads = vec![Grad::None; g.x.len()];
    grads[0] = dlist.into();
    Ok(grads)
}

fn concat_v1(c: &mut OpCall<'_>) -> Result<()> {
    let asked = c.attrs().shape("element_shape")?.clone();
    if asked.rank() == Some(0) {
        return Err(invalid!("element_shape must not be empty: elements are at least vectors"));
    }
    concat(c, asked, &[])
}

fn concat_v2(c: &mut OpCall<'_>) -> Result<()> {
    let (asked, leading) = (shape_input(c, 1)?, c.int_vector(2)?);
    concat(c, asked, &leading)
}

/// Unset elements become zeros of length `leading[i]`.
fn concat(c: &mut OpCall<'_>, asked: PartialShape, leading: &[i64]) -> Result<()> {
    let dtype = c.output_type(0)?;
    let (value, lengths) = TensorList::look(c, 0, |list| {
        list.check_type(dtype)?;
        let known = merged(&asked, &list.shape)?;
        if known.rank() == Some(0) {
            return Err(scalars());
        }
        if list.items.is_empty() && !rest_of(&known).is_fully_known() {
            return Err(invalid!(
                "All except the first dimension must be fully defined when concating an empty tensor list. element_shape: {known}"
            ));
        }
        let rest = rest_of_all(list, rest_of(&known))?;
        let piece = |(i, item): (usize, &Option<Tensor>)| match (item, leading.get(i), known.to_shape()) {
            (Some(t), ..) => Ok(t.clone()),
            (None, Some(len), _) => {
                Tensor::zeros(dtype, Shape::from_i64(&[&[*len], rest.dims().unwrap_or(&[])].concat())?)
            }
            (None, None, Some(all)) => Tensor::zeros(dtype, all),
            (None, None, None) => Err(invalid!(
                "List contains uninitialized tensor at index {i} but leading_dims has only {} elements.",
                leading.len()
            )),
        };
        let pieces = reserve::try_collect(list.items.iter().enumerate().map(piece))?;
        concat_pieces(dtype, &rest, &pieces)
    })?;
    c.set(0, value);
    c.set(1, lengths);
    Ok(())
}

/// The shape of all elements without their first dimension, which must be known.
fn rest_of_all(list: &TensorList, said: PartialShape) -> Result<PartialShape> {
    let mut rest = said;
    for (i, set) in list.items.iter().enumerate().filter_map(|(i, t)| Some((i, t.as_ref()?))) {
        if set.rank() == 0 {
            return Err(invalid!("Concat saw a scalar shape at index {i} but requires at least vectors."));
        }
        rest = merged(&rest, &(&set.shape().without(0)).into())?;
    }
    if !rest.is_fully_known() {
        return Err(invalid!(
            "Trying to concat list with only uninitialized tensors but element_shape_except_first_dim is not fully \
             defined: {rest}"
        ));
    }
    Ok(rest)
}

/// An element's shape without its first dimension.
fn rest_of(element: &PartialShape) -> PartialShape {
    match element.dims() {
        Some([_, rest @ ..]) => rest.iter().copied().collect(),
        _ => PartialShape::unknown(),
    }
}

pub static TENSOR_LIST_SPLIT: Op = Op {
    name: "TensorListSplit",
    doc: "A list of pieces of these lengths, split from a tensor along its first dimension.",
    inputs: &["tensor: element_dtype", "element_shape: shape_type", "lengths: int64"],
    outputs: &["output_handle: variant"],
    attrs: &["element_dtype: type", "shape_type: {int32, int64}"],
    shape: |c| {
        c.rank(2, 1)?;
        Ok(vec![PartialShape::scalar()])
    },
    grad: Rule(|g| {
        let (tensor, shape, lengths, dlist) = (g.x[0], g.x[1], g.x[2], g.dy()?);
        let dtype = [("element_dtype", Attr::Type(g.graph.dtype(tensor)))];
        let args = [dlist.into(), shape.into(), lengths.into()];
        let dtensor = g.op("TensorListConcatV2", args, &dtype)?;
        Ok(vec![dtensor.into(), Grad::None, Grad::None])
    }),
    kernels: cpu!(split),
    ..Op::PURE
};

fn split(c: &mut OpCall<'_>) -> Result<()> {
    let (tensor, asked, lengths) = (c.input(0)?, shape_input(c, 1)?, c.int_vector(2)?);
    let pieces = split_pieces(tensor, &lengths)?;
    if !rest_of(&asked).allows(&tensor.shape().without(0)) {
        return Err(invalid!("tensor shape {} is not compatible with element_shape {asked}", tensor.shape()));
    }
    let mut list = TensorList::new(tensor.dtype(), asked);
    list.items = reserve::collect(pieces.into_iter().map(Some))?;
    c.set(0, list.into_tensor());
    Ok(())
}
