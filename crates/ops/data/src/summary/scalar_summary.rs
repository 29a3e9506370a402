//! `ScalarSummary`: numbers by tag, for event files.

use super::{as_tag, serialized};
use crate::prelude::*;
use bytes::Bytes;
use thalweg_proto::{Summary, summary};

pub static SCALAR_SUMMARY: Op = Op {
    name: "ScalarSummary",
    doc: "A serialized Summary with a value for each tag.",
    inputs: &["tags: string", "values: T"],
    outputs: &["summary: string"],
    attrs: &["T: realnumbertype"],
    shape: |c| {
        c.input(0).merge(&c.input(1))?;
        Ok(vec![PartialShape::scalar()])
    },
    grad: Stops,
    kernels: cpu!(run: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    cases: |r| {
        let tags = ["loss", "accuracy"].map(|s| Bytes::from_static(s.as_bytes()));
        let tags = Tensor::from_objects(Shape::vector(2), tags.to_vec()).into_iter();
        vec![
            Case::new(tags.chain([r.tensor(&[2])]).collect()),
            Case::new(vec![Tensor::string("x"), r.tensor(&[])]),
        ]
    },
    ..Op::PURE
};

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let (tags, values) = (c.input(0)?, c.input(1)?);
    if tags.shape() != values.shape() {
        return Err(invalid!(
            "tags and values are not the same shape: {} != {}",
            tags.shape(),
            values.shape()
        ));
    }
    let mut summary = Summary::default();
    for (tag, value) in tags.strings()?.iter().zip(values.as_slice::<T>()?) {
        let value = Some(summary::value::Value::SimpleValue(value.to_f64() as f32));
        let value = summary::Value { tag: as_tag(tag)?, value, ..Default::default() };
        reserve::push(&mut summary.value, value)?;
    }
    c.set(0, serialized(&summary)?);
    Ok(())
}
