//! `Placeholder`, `PlaceholderWithDefault`: values that a run feeds.

use crate::prelude::*;
use thalweg_core::placeholder::not_fed;

pub static PLACEHOLDER: Op = Op {
    name: "Placeholder",
    doc: "A value that every run using it must feed.",
    outputs: &["output: dtype"],
    attrs: &["dtype: type", "shape: shape = { unknown_rank: true }"],
    shape: |c| Ok(vec![c.attrs.shape("shape")?.clone()]),
    grad: Stops,
    kernels: cpu!(missing),
    class: Class::Placeholder,
    ..Op::PURE
};

fn missing(c: &mut OpCall<'_>) -> Result<()> {
    Err(not_fed(&c.node.name, c.attrs()))
}

pub static PLACEHOLDER_WITH_DEFAULT: Op = Op {
    name: "PlaceholderWithDefault",
    doc: "The input, unless the run feeds another value.",
    inputs: &["input: dtype"],
    outputs: &["output: dtype"],
    attrs: &["dtype: type", "shape: shape"],
    shape: |c| {
        let declared = c.attrs.shape("shape")?.clone();
        c.input(0).merge(&declared)?;
        Ok(vec![declared])
    },
    grad: Rule(|g| Ok(vec![g.dy()?.into()])),
    kernels: cpu!(pass),
    cases: |r| vec![Case::new(vec![r.tensor(&[2])]).attr("shape", PartialShape::vector(-1))],
    ..Op::PURE
};

fn pass(c: &mut OpCall<'_>) -> Result<()> {
    let x = c.take(0)?;
    c.set(0, x);
    Ok(())
}
