//! `MergeSummary`: merges summaries.

use super::serialized;
use crate::prelude::*;
use std::collections::HashSet;
use thalweg_io::message::decode;
use thalweg_proto::Summary;

pub static MERGE_SUMMARY: Op = Op {
    name: "MergeSummary",
    doc: "One serialized Summary with the values of all inputs; tags must be unique.",
    inputs: &["inputs: N * string"],
    outputs: &["summary: string"],
    attrs: &["N: int >= 1"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(run),
    cases: |_| {
        // A Summary with the tag alone.
        let summary = |tag: u8| Tensor::string(vec![0x0a, 3, 0x0a, 1, tag]);
        vec![Case::new(vec![summary(b'a'), summary(b'b')]).attr("N", 2)]
    },
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (mut merged, mut tags) = (Summary::default(), HashSet::new());
    for i in 0..c.inputs.len() {
        for bytes in c.input(i)?.strings()? {
            let summary: Summary =
                decode(bytes.clone())?.map_err(|_| invalid!("Could not parse one of the summary inputs"))?;
            for value in summary.value {
                reserve::room(&mut tags, 1)?;
                if !value.tag.is_empty() && !tags.insert(value.tag.clone()) {
                    return Err(invalid!("Duplicate tag {} found in summary inputs", value.tag));
                }
                reserve::push(&mut merged.value, value)?;
            }
        }
    }
    c.set(0, serialized(&merged)?);
    Ok(())
}
