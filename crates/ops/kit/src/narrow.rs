//! Kernels for half and bfloat16: those for float on widened inputs, their results rounded once.

use crate::convert::converted;
use crate::prelude::*;

/// Runs a kernel for float where the node is of type `T`: its inputs of that type are widened, and its float outputs that the
/// node declares as `T` are rounded.
pub fn in_float<T: Float>(c: &mut OpCall<'_>, run: &dyn Fn(&mut OpCall<'_>) -> Result<()>) -> Result<()> {
    for i in 0..c.inputs.len() {
        if c.input(i)?.dtype() == T::DTYPE {
            c.inputs[i] = Input::Owned(converted(c.input(i)?, DataType::Float)?);
        }
    }
    run(c)?;
    for i in 0..c.outputs.len() {
        if let Some(Value::Tensor(t)) = &c.outputs[i]
            && c.output_type(i)? == T::DTYPE
        {
            let rounded = converted(t, T::DTYPE)?;
            c.set(i, rounded);
        }
    }
    Ok(())
}
