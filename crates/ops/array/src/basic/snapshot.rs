//! `Snapshot`, `DeepCopy`: a copy of the input.

use super::identity::IDENTITY;
use crate::prelude::*;

pub static SNAPSHOT: Op =
    Op { name: "Snapshot", doc: "A copy of the input.", identity: false, partial_value: None, ..IDENTITY };

pub static DEEP_COPY: Op = Op {
    name: "DeepCopy",
    doc: "A copy of the input in new memory.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: type"],
    shape: same_as_input,
    grad: Missing,
    kernels: cpu!(run),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    ..Op::STATEFUL
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let mut x = c.take(0)?;
    // A mutable borrow copies shared memory. Objects are immutable: sharing them has no effect.
    if x.dtype().is_plain() {
        x.bytes_mut()?;
    }
    c.set(0, x);
    Ok(())
}
