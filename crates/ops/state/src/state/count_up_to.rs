//! `CountUpTo`, `ResourceCountUpTo`: a counter with a limit.

use super::target::variable;
use crate::prelude::*;

pub static COUNT_UP_TO: Op = Op {
    name: "CountUpTo",
    doc: "Adds one to a scalar variable and outputs its old value; at the limit it fails with OutOfRange.",
    inputs: &["ref: Ref(T)"],
    outputs: &["output: T"],
    attrs: &["limit: int", "T: {int32, int64}"],
    shape: |c| {
        c.scalar(0)?;
        Ok(vec![PartialShape::scalar()])
    },
    kernels: cpu!(run: T in i32, i64),
    ..Op::STATEFUL
};

pub static RESOURCE_COUNT_UP_TO: Op =
    Op { name: "ResourceCountUpTo", inputs: &["resource: resource"], ..COUNT_UP_TO };

fn run<T: Real + Into<i64>>(c: &mut OpCall<'_>) -> Result<()> {
    let limit = c.attrs().int("limit")?;
    let before = variable(c, 0)?.update(|t| {
        if !t.shape().is_scalar() {
            return Err(invalid!("input is not a scalar: its shape is {}", t.shape()));
        }
        let before = t.to_scalar::<T>()?;
        if before.into() >= limit {
            return Err(out_of_range(format_args!("Reached limit of {limit}")));
        }
        *t = Tensor::scalar(before.add(T::ONE));
        Ok(before)
    })?;
    c.set(0, Tensor::scalar(before));
    Ok(())
}
