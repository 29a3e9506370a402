//! `TensorArrayReadV3`: reads a slot.

use super::resource::{alike, array_input, gradient_array};
use crate::prelude::*;

pub static TENSOR_ARRAY_READ_V3: Op = Op {
    name: "TensorArrayReadV3",
    doc: "The tensor in a slot; zeros if it was not written but its shape is known.",
    inputs: &["handle: resource", "index: int32", "flow_in: float"],
    outputs: &["value: dtype"],
    attrs: &["dtype: type"],
    shape: |c| {
        c.scalar(1)?;
        shape_call::unknown(c)
    },
    grad: Rule(grad),
    kernels: cpu!(run),
    ..Op::STATEFUL
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (index, flow, dy) = (g.x[1], g.x[2], g.dy()?);
    let (handle, grad_flow) = gradient_array(g, flow)?;
    let args = [handle.into(), index.into(), dy.into(), grad_flow.into()];
    let flow = g.op(&alike(g, "Write"), args, &[])?;
    Ok(vec![Grad::None, Grad::None, flow.into()])
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (array, index) = (array_input(c)?, c.scalar::<i32>(1)?);
    array.check_read_type(c.output_type(0)?)?;
    let value = array.with(|s| array.read(s, index.into()))?;
    c.set(0, value);
    Ok(())
}
