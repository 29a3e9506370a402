//! `TensorArrayGradV3`, `TensorArrayGradWithShape`: the array that accumulates gradients.

use super::resource::{GRADIENTS, array_input, output_array};
use crate::prelude::*;

pub static TENSOR_ARRAY_GRAD_V3: Op = Op {
    name: "TensorArrayGradV3",
    doc: "The array for the gradients of an array, one for each `source`; the array itself no longer grows.",
    inputs: &["handle: resource", "flow_in: float"],
    outputs: &["grad_handle: resource", "flow_out: float"],
    attrs: &["source: string"],
    shape: shape_call::scalar,
    // No second-order gradients: an error, not zero.
    grad: Missing,
    kernels: cpu!(run),
    ..Op::STATEFUL
};

pub static TENSOR_ARRAY_GRAD_WITH_SHAPE: Op = Op {
    name: "TensorArrayGradWithShape",
    doc: "As TensorArrayGradV3, where the gradients have further dimensions before those of the elements.",
    inputs: &["handle: resource", "flow_in: float", "shape_to_prepend: int32"],
    ..TENSOR_ARRAY_GRAD_V3
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let array = array_input(c)?;
    if array.rules.adds_up {
        return Err(invalid!(
            "Wrong input container. {GRADIENTS}: no gradients of gradients ({})",
            array.name
        ));
    }
    let prepend = if c.inputs.len() > 2 { Shape::from_i64(&c.int_vector(2)?)? } else { Shape::scalar() };
    let name = format!("{}@{}", array.name, c.attrs().str("source")?);
    let grads =
        c.step.scratch().get_or_create(GRADIENTS, &name, || array.for_gradients(name.clone(), &prepend))?;
    output_array(c, GRADIENTS, grads)
}
