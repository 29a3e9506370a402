//! What a node's outputs weigh: heavy nodes bring the next look at the clock, the cancellation and the memory nearer.

use std::sync::Arc;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::kernel::Value;
use thalweg_core::step::StepContext;

/// The work of light nodes between two looks.
pub const CHECK_EVERY: isize = 64;

/// Bytes that weigh as much as a light node.
const BYTES: usize = 16 << 10;

/// The weight of one output. Strings, whose memory no buffer counts, are put on the session's count.
#[inline]
pub fn of_output(value: &Option<Value>, step: &Arc<StepContext>) -> Result<isize> {
    let Some(Value::Tensor(t)) = value else { return Ok(0) };
    if t.dtype() == DataType::String {
        t.charge_to(&step.device.memory)?;
        return Ok((t.elements() / BYTES * size_of::<String>()) as isize);
    }
    Ok((t.elements().saturating_mul(t.dtype().size()) / BYTES) as isize)
}
