//! `Rank`: the number of dimensions.

use crate::prelude::*;

pub static RANK: Op = Op {
    name: "Rank",
    doc: "The number of dimensions of the input.",
    inputs: &["input: T"],
    outputs: &["output: int32"],
    attrs: &["T: type"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(run),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])]), Case::new(vec![r.tensor(&[])])],
    host_outputs: &["output"],
    shape_value: Some(|s, _| i32::try_from(s.rank()?).ok().map(Tensor::scalar)),
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let rank = c.shape(0)?.rank() as i32;
    c.set(0, Tensor::scalar(rank));
    Ok(())
}
