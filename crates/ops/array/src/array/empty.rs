//! `Empty`: allocates memory.

use crate::prelude::*;

pub static EMPTY: Op = Op {
    name: "Empty",
    doc: "A tensor of shape `shape`: zeros if `init`, any values otherwise.",
    inputs: &["shape: int32"],
    outputs: &["output: dtype"],
    attrs: &["dtype: type", "init: bool = false"],
    shape: |c| Ok(vec![c.as_shape(0)?]),
    grad: Missing,
    kernels: cpu!(make prepare),
    cases: |_| vec![Case::new(vec![int_vector(&[2, 3])]).attr("dtype", DataType::Float).attr("init", true)],
    host_inputs: &["shape"],
    ..Op::STATEFUL
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (dtype, init) = (node.attrs.dtype("dtype")?, node.attrs.bool("init")?);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let shape = Shape::from_i64(&c.int_vector(0)?)?;
        let out = if init { Tensor::zeros(dtype, shape) } else { Tensor::uninit(dtype, shape) }?;
        c.set(0, out);
        Ok(())
    }))
}
