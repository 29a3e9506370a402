//! `TensorArrayCloseV3`: deletes an array before its step ends.

use super::resource::{CONTAINER, GRADIENTS, array_input};
use crate::prelude::*;
use thalweg_core::resource::Resource;

pub static TENSOR_ARRAY_CLOSE_V3: Op = Op {
    name: "TensorArrayCloseV3",
    doc: "Deletes the array before the step ends.",
    inputs: &["handle: resource"],
    shape: |_| Ok(vec![]),
    kernels: cpu!(run),
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let array = array_input(c)?;
    let container = if array.rules.adds_up { GRADIENTS } else { CONTAINER };
    // Closing twice is no error.
    let _ = c.step.scratch().remove(container, &array.name);
    array.discard();
    Ok(())
}
