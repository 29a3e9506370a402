//! The cost of a node, by the size of its outputs: the deadline, cancellation and memory budget are checked once per `CHECK_EVERY`.

use std::sync::Arc;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::kernel::Value;
use thalweg_core::step::StepContext;

/// The cost between two checks; a node without large outputs costs 1.
pub const CHECK_EVERY: isize = 64;

/// Bytes that cost as much as a node.
const BYTES: usize = 16 << 10;

/// The cost of one output. Strings, which no buffer counts, are charged to the session.
#[inline]
pub fn of_output(value: &Option<Value>, step: &Arc<StepContext>) -> Result<isize> {
    let Some(Value::Tensor(t)) = value else { return Ok(0) };
    if t.dtype() == DataType::String {
        t.charge_to(&step.device.memory)?;
        return Ok((t.elements() / BYTES * size_of::<String>()) as isize);
    }
    Ok((t.elements().saturating_mul(t.dtype().size()) / BYTES) as isize)
}
