//! `TensorArrayConcatV3`, `TensorArraySplitV3`: the slots concatenated to one tensor.

use super::resource::{alike, array_input, gradient_array};
use super::write::pass_flow;
use crate::prelude::*;
use crate::rows::join;

pub static TENSOR_ARRAY_CONCAT_V3: Op = Op {
    name: "TensorArrayConcatV3",
    doc: "The tensors of the array concatenated along their first dimension, and the lengths.",
    inputs: &["handle: resource", "flow_in: float"],
    outputs: &["value: dtype", "lengths: int64"],
    attrs: &["dtype: type", "element_shape_except0: shape = { unknown_rank: true }"],
    shape: |c| {
        let rest = c.attrs.shape("element_shape_except0")?;
        Ok(vec![PartialShape::vector(-1).concat(rest), PartialShape::vector(-1)])
    },
    grad: Rule(|g| {
        let (lengths, flow, dy) = (g.y[1], g.x[1], g.dy()?);
        let (handle, grad_flow) = gradient_array(g, flow)?;
        let args = [handle.into(), dy.into(), lengths.into(), grad_flow.into()];
        let flow = g.op(&alike(g, "Split"), args, &[])?;
        Ok(vec![Grad::None, flow.into()])
    }),
    kernels: cpu!(concat),
    ..Op::STATEFUL
};

fn concat(c: &mut OpCall<'_>) -> Result<()> {
    let array = array_input(c)?;
    array.check_read_type(c.output_type(0)?)?;
    let declared = c.attrs().shape("element_shape_except0")?;
    let pieces = array.with(|s| array.read_all(s))?;
    let (value, lengths) = concat_pieces(array.dtype, declared, &pieces)?;
    c.set(0, value);
    c.set(1, lengths);
    Ok(())
}

/// Tensors concatenated along their first dimension, and their lengths; `rest` is the known shape of the others.
pub fn concat_pieces(dtype: DataType, rest: &PartialShape, pieces: &[Tensor]) -> Result<(Tensor, Tensor)> {
    let each = match pieces.first() {
        Some(first) => Shape::new(first.shape().get(1..).unwrap_or(&[]))?,
        None => rest.to_shape().ok_or_else(|| {
            unimplemented(format_args!(
                "nothing to concatenate, and the element shape {rest} is not fully defined"
            ))
        })?,
    };
    let mut lengths = reserve::with_capacity(pieces.len())?;
    for (i, p) in pieces.iter().enumerate() {
        let Some((len, other)) = p.shape().split_first() else {
            return Err(invalid!("Concat saw a scalar shape at index {i} but requires at least vectors."));
        };
        if *other != *each || !rest.allows(&each) {
            return Err(invalid!(
                "cannot concatenate: index {i} has shape {}, others {each} after the first dimension, {rest} was said",
                p.shape()
            ));
        }
        lengths.push(*len as i64);
    }
    let total = lengths.iter().sum::<i64>() as usize;
    let value = join(dtype, Shape::new(&[&[total], each.dims()].concat())?, pieces)?;
    Ok((value, Tensor::vector(&lengths)?))
}

pub static TENSOR_ARRAY_SPLIT_V3: Op = Op {
    name: "TensorArraySplitV3",
    doc: "Splits `value` along its first dimension by lengths, one piece per slot.",
    inputs: &["handle: resource", "value: T", "lengths: int64", "flow_in: float"],
    outputs: &["flow_out: float"],
    attrs: &["T: type"],
    shape: |c| {
        c.rank(2, 1)?;
        Ok(vec![PartialShape::scalar()])
    },
    grad: Rule(|g| {
        let (value, flow) = (g.x[1], g.dy()?);
        let (handle, grad_flow) = gradient_array(g, flow)?;
        let dtype = [("dtype", Attr::Type(g.graph.dtype(value)))];
        let dvalue = g.op(&alike(g, "Concat"), [handle.into(), grad_flow.into()], &dtype)?;
        Ok(vec![Grad::None, dvalue.into(), Grad::None, flow.into()])
    }),
    kernels: cpu!(split),
    ..Op::STATEFUL
};

fn split(c: &mut OpCall<'_>) -> Result<()> {
    let (array, value, lengths) = (array_input(c)?, c.input(1)?, c.int_vector(2)?);
    array.check_write_type(value.dtype())?;
    let pieces = split_pieces(value, &lengths)?;
    array.with(|s| {
        if s.size != pieces.len() {
            if !s.dynamic {
                return Err(invalid!(
                    "TensorArray's size is not equal to the size of lengths ({} vs. {}), \
                     and the TensorArray is not marked as dynamically resizeable",
                    s.size,
                    pieces.len()
                ));
            }
            s.size = pieces.len();
        }
        pieces.into_iter().enumerate().try_for_each(|(i, p)| array.write(s, i as i64, p))
    })?;
    pass_flow(c, 3)
}

/// Splits along the first dimension; the lengths must add up to it.
pub fn split_pieces(value: &Tensor, lengths: &[i64]) -> Result<Vec<Tensor>> {
    let rows = *value
        .shape()
        .first()
        .ok_or_else(|| invalid!("Expected value to be at least a vector, but received shape: []"))?;
    let mut at = 0usize;
    let mut pieces = reserve::with_capacity(lengths.len())?;
    for len in lengths {
        let len = usize::try_from(*len).map_err(|_| invalid!("Invalid value in lengths: {len}"))?;
        if len > rows - at {
            let end = at.saturating_add(len);
            return Err(invalid!("Attempting to slice [{at}, {end}] from tensor with length {rows}"));
        }
        pieces.push(value.rows(at, len)?);
        at += len;
    }
    if at != rows {
        return Err(invalid!(
            "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {at} and value's shape is: {}",
            value.shape()
        ));
    }
    Ok(pieces)
}
