//! `Identity`: its input.

use crate::prelude::*;

pub static IDENTITY: Op = Op {
    name: "Identity",
    doc: "The input, unchanged.",
    inputs: &["input: T"],
    outputs: &["output: T"],
    attrs: &["T: type"],
    shape: same_as_input,
    grad: Rule(|g| Ok(vec![g.dy()?.into()])),
    kernels: cpu!(run),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    identity: true,
    partial_value: Some(partial_value::same_as_input),
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let x = c.take(0)?;
    c.set(0, x);
    Ok(())
}
