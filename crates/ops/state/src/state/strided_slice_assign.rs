//! `StridedSliceAssign`, `ResourceStridedSliceAssign`: a strided slice of a variable, replaced.

use super::target::{forward_ref, variable, variable_shape};
use crate::moving::Block;
use crate::prelude::*;
use thalweg_ops_array::indexing::slice_spec::{Entries, Masks, Slice};

pub static STRIDED_SLICE_ASSIGN: Op = Op {
    name: "StridedSliceAssign",
    doc: "Writes `value` to the slice of a reference variable that StridedSlice selects.",
    inputs: &["ref: Ref(T)", "begin: Index", "end: Index", "strides: Index", "value: T"],
    outputs: &["output_ref: Ref(T)"],
    attrs: &[
        "T: type",
        "Index: {int32, int64}",
        "begin_mask: int = 0",
        "end_mask: int = 0",
        "ellipsis_mask: int = 0",
        "new_axis_mask: int = 0",
        "shrink_axis_mask: int = 0",
    ],
    shape: same_as_input,
    kernels: cpu!(make prepare),
    ..Op::STATEFUL
};

pub static RESOURCE_STRIDED_SLICE_ASSIGN: Op = Op {
    name: "ResourceStridedSliceAssign",
    doc: "Writes `value` to the slice of a resource variable that StridedSlice selects.",
    inputs: &["ref: resource", "begin: Index", "end: Index", "strides: Index", "value: T"],
    outputs: &[],
    shape: |c| {
        variable_shape(c, 0);
        Ok(vec![])
    },
    ..STRIDED_SLICE_ASSIGN
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let masks = Masks::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (v, entries, value) = (variable(c, 0)?, Entries::of(c, 1)?, c.input(4)?);
        v.update(|held| {
            if held.dtype() != value.dtype() {
                return Err(invalid!("variable {} is {}, the value {}", v.name, held.dtype(), value.dtype()));
            }
            let slice = Slice::new(&held.shape().to_i64(), &entries, masks)?;
            let part = slice.shape()?;
            // A scalar fills the slice.
            if *value.shape() != part && !value.shape().is_scalar() {
                return Err(invalid!(
                    "Assign requires shapes of both tensors to match. lhs shape= {part} rhs shape= {}",
                    value.shape()
                ));
            }
            let value = match *value.shape() == part {
                true => value.clone(),
                false => {
                    let mut whole = Tensor::uninit(value.dtype(), part.clone())?;
                    Block::broadcast(value.shape(), &part).copy(c.par(), value, &mut whole)?;
                    whole
                }
            };
            let shape = held.shape().clone();
            slice.block(&shape, false).copy(c.par(), &value, held)
        })?;
        forward_ref(c, v);
        Ok(())
    }))
}
