//! `TensorArrayGatherV3`, `TensorArrayScatterV3`: several slots stacked to one tensor.

use super::resource::{TensorArray, alike, array_input, gradient_array};
use super::write::pass_flow;
use crate::prelude::*;
use crate::rows::{row, stack};

pub static TENSOR_ARRAY_GATHER_V3: Op = Op {
    name: "TensorArrayGatherV3",
    doc: "The tensors in the slots `indices`, stacked.",
    inputs: &["handle: resource", "indices: int32", "flow_in: float"],
    outputs: &["value: dtype"],
    attrs: &["dtype: type", "element_shape: shape = { unknown_rank: true }"],
    shape: |c| {
        let n = c.rank(1, 1)?.dim(0);
        Ok(vec![PartialShape::vector(n).concat(c.attrs.shape("element_shape")?)])
    },
    grad: Rule(|g| {
        let (indices, flow, dy) = (g.x[1], g.x[2], g.dy()?);
        let (handle, grad_flow) = gradient_array(g, flow)?;
        let args = [handle.into(), indices.into(), dy.into(), grad_flow.into()];
        let flow = g.op(&alike(g, "Scatter"), args, &[])?;
        Ok(vec![Grad::None, Grad::None, flow.into()])
    }),
    kernels: cpu!(gather),
    ..Op::STATEFUL
};

fn gather(c: &mut OpCall<'_>) -> Result<()> {
    let (array, indices) = (array_input(c)?, c.int_vector(1)?);
    array.check_read_type(c.output_type(0)?)?;
    let rows = array.with(|s| reserve::try_collect(indices.iter().map(|i| array.read(s, *i))))?;
    stack_rows(c, &array, rows)
}

/// Output 0: the rows of an array, stacked.
pub fn stack_rows(c: &mut OpCall<'_>, array: &TensorArray, rows: Vec<Tensor>) -> Result<()> {
    let declared = c.attrs().shape("element_shape")?;
    let each = match rows.first() {
        Some(first) => first.shape().clone(),
        None => declared.to_shape().ok_or_else(|| {
            unimplemented(format_args!(
                "TensorArray has size zero, but element shape {declared} is not fully defined. \
                 Currently only static shapes are supported when packing zero-size TensorArrays."
            ))
        })?,
    };
    if let Some((i, odd)) = rows.iter().enumerate().find(|(_, r)| *r.shape() != each) {
        return Err(invalid!(
            "TensorArray has inconsistent shapes. Index 0 has shape: {each} but index {i} has shape: {}",
            odd.shape()
        ));
    }
    if !declared.allows(&each) {
        return Err(invalid!("TensorArray elements have shape {each}, not {declared} as was said"));
    }
    c.set(0, stack(array.dtype, &each, &rows)?);
    Ok(())
}

pub static TENSOR_ARRAY_SCATTER_V3: Op = Op {
    name: "TensorArrayScatterV3",
    doc: "Writes the rows of `value` to the slots `indices`.",
    inputs: &["handle: resource", "indices: int32", "value: T", "flow_in: float"],
    outputs: &["flow_out: float"],
    attrs: &["T: type"],
    shape: |c| {
        let (indices, value) = (c.rank(1, 1)?, c.rank_at_least(2, 1)?);
        merge_dim(indices.dim(0), value.dim(0))?;
        Ok(vec![PartialShape::scalar()])
    },
    grad: Rule(|g| {
        let (indices, value, flow) = (g.x[1], g.x[2], g.dy()?);
        let (handle, grad_flow) = gradient_array(g, flow)?;
        let dtype = [("dtype", Attr::Type(g.graph.dtype(value)))];
        let rows = g.op(&alike(g, "Gather"), [handle.into(), indices.into(), grad_flow.into()], &dtype)?;
        Ok(vec![Grad::None, Grad::None, rows.into(), flow.into()])
    }),
    kernels: cpu!(scatter),
    ..Op::STATEFUL
};

fn scatter(c: &mut OpCall<'_>) -> Result<()> {
    let (array, indices, value) = (array_input(c)?, c.int_vector(1)?, c.input(2)?);
    array.check_write_type(value.dtype())?;
    let rows = value.shape().first().copied().unwrap_or(0);
    if value.rank() == 0 || rows != indices.len() {
        return Err(invalid!(
            "Expected len(indices) == values.shape[0], but saw: {} vs. {rows}",
            indices.len()
        ));
    }
    array.with(|s| {
        let highest = indices.iter().max().copied().unwrap_or(-1);
        if !s.dynamic && highest >= s.size as i64 {
            return Err(invalid!("Max scatter index must be < array size ({highest} vs. {})", s.size));
        }
        indices.iter().enumerate().try_for_each(|(i, at)| array.write(s, *at, row(value, i)?))
    })?;
    pass_flow(c, 3)
}
