//! `Timestamp`: the current time.

use crate::prelude::*;
use std::time::{SystemTime, UNIX_EPOCH};

pub static TIMESTAMP: Op = Op {
    name: "Timestamp",
    doc: "Seconds since 1970 at the time the node runs.",
    outputs: &["ts: double"],
    shape: shape_call::scalar,
    kernels: cpu!(run),
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    c.set(0, Tensor::scalar(since.as_secs_f64()));
    Ok(())
}
