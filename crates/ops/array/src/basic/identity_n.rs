//! `IdentityN`: its inputs.

use crate::prelude::*;

pub static IDENTITY_N: Op = Op {
    name: "IdentityN",
    doc: "The inputs, unchanged.",
    inputs: &["input: T"],
    outputs: &["output: T"],
    attrs: &["T: list(type) >= 1"],
    shape: |c| Ok(c.inputs.to_vec()),
    grad: Rule(|g| g.dy.iter().map(|dy| Ok(dy.map_or(Grad::None, Grad::Dense))).collect()),
    kernels: cpu!(run),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.ints(&[2], 0, 9)]).without_difference(&[1])],
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    for i in 0..c.inputs.len() {
        let x = c.take(i)?;
        c.set(i, x);
    }
    Ok(())
}
