//! `ZerosLike`: zeros of the input's type and shape.

use crate::prelude::*;
use crate::tensor_list::TensorList;

pub static ZEROS_LIKE: Op = Op {
    name: "ZerosLike",
    doc: "A tensor of zeros (empty strings) of the type and shape of x; for a list, a list of such.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: type"],
    shape: same_as_input,
    grad: Stops,
    kernels: cpu!(run),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])]), Case::new(vec![r.tensor(&[])])],
    fills: true,
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    if c.input(0)?.dtype() == DataType::Variant {
        let zeros = TensorList::look(c, 0, TensorList::zeros)?;
        c.set(0, zeros.into_tensor());
        return Ok(());
    }
    let x = c.input(0)?;
    if x.dtype() == DataType::Resource {
        return Err(unimplemented(format_args!("there are no zeros of type {}", x.dtype())));
    }
    let zeros = Tensor::zeros(x.dtype(), x.shape().clone())?;
    c.set(0, zeros);
    Ok(())
}
