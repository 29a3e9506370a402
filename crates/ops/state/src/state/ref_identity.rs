//! `RefIdentity`: an identity.

use crate::prelude::*;

pub static REF_IDENTITY: Op = Op {
    name: "RefIdentity",
    doc: "The same reference as its input.",
    inputs: &["input: Ref(T)"],
    outputs: &["output: Ref(T)"],
    attrs: &["T: type"],
    shape: same_as_input,
    grad: Rule(|g| Ok(vec![g.dy()?.into()])),
    kernels: cpu!(run),
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let v = c.reference(0)?.clone();
    c.set(0, Value::Ref(v));
    Ok(())
}
