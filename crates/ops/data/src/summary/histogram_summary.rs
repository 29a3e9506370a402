//! `HistogramSummary`: the distribution of a tensor's values.

use super::{serialized, tag, value};
use crate::prelude::*;
use thalweg_io::event::Histogram;
use thalweg_proto::{Summary, summary};

pub static HISTOGRAM_SUMMARY: Op = Op {
    name: "HistogramSummary",
    doc: "A serialized Summary with a histogram of the values.",
    inputs: &["tag: string", "values: T"],
    outputs: &["summary: string"],
    attrs: &["T: realnumbertype = DT_FLOAT"],
    shape: |c| {
        c.scalar(0)?;
        shape_call::scalar(c)
    },
    grad: Stops,
    kernels: cpu!(run: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    cases: |r| {
        vec![
            Case::new(vec![Tensor::string("weights"), r.tensor(&[5, 3])]),
            Case::new(vec![Tensor::string("none"), r.tensor(&[0])]),
        ]
    },
    expensive: true,
    ..Op::PURE
};

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let tag = tag(c, 0)?;
    let histogram = Histogram::of(c.slice::<T>(1)?.iter().map(|v| v.to_f64()), &c.node.name)?.to_proto();
    let summary = Summary { value: vec![value(tag, summary::value::Value::Histo(histogram))] };
    c.set(0, serialized(&summary)?);
    Ok(())
}
