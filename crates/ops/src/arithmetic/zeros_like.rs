//! `ZerosLike`: zeros of the input's type and shape.

use crate::prelude::*;

pub static ZEROS_LIKE: Op = Op {
    name: "ZerosLike",
    doc: "A tensor of zeros (empty strings) of the type and shape of x.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: type"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(run),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])]), Case::new(vec![r.tensor(&[])])],
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let x = c.input(0)?;
    if matches!(x.dtype(), DataType::Variant | DataType::Resource) {
        return Err(unimplemented(format!("there are no zeros of type {}", x.dtype())));
    }
    let zeros = Tensor::zeros(x.dtype(), x.shape().clone())?;
    c.set(0, zeros);
    Ok(())
}
