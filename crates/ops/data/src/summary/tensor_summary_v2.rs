//! `TensorSummaryV2`: a whole tensor, for a plugin of TensorBoard's.

use super::{scalar_bytes, serialized, tag};
use crate::prelude::*;
use thalweg_io::message::decode;
use thalweg_io::wire::tensor_to_proto;
use thalweg_proto::{Summary, SummaryMetadata, summary};

pub static TENSOR_SUMMARY_V2: Op = Op {
    name: "TensorSummaryV2",
    doc: "A serialized Summary with a tensor, and metadata that says how to show it.",
    inputs: &["tag: string", "tensor: T", "serialized_summary_metadata: string"],
    outputs: &["summary: string"],
    attrs: &["T: type"],
    shape: |c| {
        c.scalar(0)?;
        c.scalar(2)?;
        shape_call::scalar(c)
    },
    grad: Stops,
    kernels: cpu!(run),
    cases: |r| {
        vec![
            Case::new(vec![Tensor::string("t"), r.tensor(&[2, 3]), Tensor::string("")]),
            Case::new(vec![Tensor::string("s"), Tensor::string("text"), Tensor::string("")]),
        ]
    },
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let metadata: SummaryMetadata = decode(scalar_bytes(c, 2)?.clone())?
        .map_err(|e| invalid!("serialized_summary_metadata is not a SummaryMetadata: {e}"))?;
    let value = summary::Value {
        tag: tag(c, 0)?,
        value: Some(summary::value::Value::Tensor(tensor_to_proto(c.input(1)?)?)),
        metadata: Some(metadata),
        ..Default::default()
    };
    c.set(0, serialized(&Summary { value: vec![value] })?);
    Ok(())
}
