//! Axes from tensors: one number, negative from the end.

use crate::prelude::*;

/// The one integer of an input, which may be a scalar or any tensor with a single element.
pub fn single_int(c: &OpCall<'_>, i: usize) -> Result<i64> {
    match c.input(i)?.to_i64s()?.as_slice() {
        [one] => Ok(*one),
        _ => Err(invalid!("{} must have exactly one element, got shape {}", c.input_name(i), c.shape(i)?)),
    }
}

/// As `single_int`, for a shape rule: the value if it is known, with the shape checked either way.
pub fn single_constant(c: &ShapeCall<'_>, i: usize) -> Result<Option<i64>> {
    match c.input(i).elements() {
        Some(n) if n != 1 => {
            Err(invalid!("input {i} must have exactly one element, got shape {}", c.input(i)))
        }
        _ => Ok(c.ints(i).and_then(|v| v.first().copied())),
    }
}

/// The axis of a tensor of this rank that an input names.
pub fn axis_input(c: &OpCall<'_>, i: usize, rank: usize) -> Result<usize> {
    axis_in_range(single_int(c, i)?, rank)
}

/// As `axis_input`, for a shape rule; `None` if it is not known before running.
pub fn constant_axis(c: &ShapeCall<'_>, i: usize, rank: Option<usize>) -> Result<Option<usize>> {
    match (single_constant(c, i)?, rank) {
        (Some(axis), Some(rank)) => axis_in_range(axis, rank).map(Some),
        _ => Ok(None),
    }
}
