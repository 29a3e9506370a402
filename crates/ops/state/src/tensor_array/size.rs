//! `TensorArraySizeV3`: the number of slots.

use super::resource::array_input;
use crate::prelude::*;

pub static TENSOR_ARRAY_SIZE_V3: Op = Op {
    name: "TensorArraySizeV3",
    doc: "The number of slots of the array.",
    inputs: &["handle: resource", "flow_in: float"],
    outputs: &["size: int32"],
    shape: shape_call::scalar,
    kernels: cpu!(run),
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let size = array_input(c)?.with(|s| Ok(s.size))?;
    c.set(0, Tensor::scalar(i32::try_from(size).unwrap_or(i32::MAX)));
    Ok(())
}
