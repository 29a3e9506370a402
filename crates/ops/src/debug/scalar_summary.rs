//! `ScalarSummary`: numbers by name, as the event files hold them.

use crate::prelude::*;
use bytes::Bytes;

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
    let mut summary = Vec::new();
    for (tag, value) in tags.strings()?.iter().zip(values.as_slice::<T>()?) {
        let mut item = Vec::new();
        delimited(&mut item, 1, tag);
        // Field 2, of 32 bits: simple_value.
        item.push(2 << 3 | 5);
        item.extend_from_slice(&(value.to_f64() as f32).to_le_bytes());
        delimited(&mut summary, 1, &item);
    }
    c.set(0, Tensor::string(summary));
    Ok(())
}

/// A field with bytes, as protocol buffers write it.
fn delimited(out: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    out.push(field << 3 | 2);
    let mut n = bytes.len();
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
    out.extend_from_slice(bytes);
}
