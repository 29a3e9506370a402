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

pub static PLACEHOLDER_V2: Op = Op {
    name: "PlaceholderV2",
    doc: "A value of a declared shape that every run using it must feed.",
    attrs: &["dtype: type", "shape: shape"],
    ..PLACEHOLDER
};

/// For a branch that has no such value: the other one gives it.
pub static FAKE_PARAM: Op = Op {
    name: "FakeParam",
    doc: "A tensor of a type and shape whose value nothing uses.",
    attrs: &["dtype: type", "shape: shape"],
    kernels: cpu!(fake),
    class: Class::Plain,
    ..PLACEHOLDER
};

fn fake(c: &mut OpCall<'_>) -> Result<()> {
    let dims = c.attrs().shape("shape")?.dims().unwrap_or_default().to_vec();
    let known: Vec<i64> = dims.into_iter().map(|d| d.max(0)).collect();
    c.set(0, Tensor::zeros(c.output_type(0)?, Shape::from_i64(&known)?)?);
    Ok(())
}

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
