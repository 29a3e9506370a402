//! `TensorArrayWriteV3`: writes a slot.

use super::resource::{alike, array_input, gradient_array};
use crate::prelude::*;

pub static TENSOR_ARRAY_WRITE_V3: Op = Op {
    name: "TensorArrayWriteV3",
    doc: "Writes `value` to a slot that has not been written; an array of gradients adds it to the value in the slot.",
    inputs: &["handle: resource", "index: int32", "value: T", "flow_in: float"],
    outputs: &["flow_out: float"],
    attrs: &["T: type"],
    shape: |c| {
        c.scalar(1)?;
        Ok(vec![PartialShape::scalar()])
    },
    grad: Rule(grad),
    kernels: cpu!(run),
    ..Op::STATEFUL
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (index, value, flow) = (g.x[1], g.x[2], g.dy()?);
    let (handle, grad_flow) = gradient_array(g, flow)?;
    let dtype = [("dtype", Attr::Type(g.graph.dtype(value)))];
    let dvalue = g.op(&alike(g, "Read"), [handle.into(), index.into(), grad_flow.into()], &dtype)?;
    Ok(vec![Grad::None, Grad::None, dvalue.into(), flow.into()])
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (array, index) = (array_input(c)?, c.scalar::<i32>(1)?);
    let value = c.take(2)?;
    array.check_write_type(value.dtype())?;
    array.with(|s| array.write(s, index.into(), value))?;
    pass_flow(c, 3)
}

/// Forwards the flow.
pub fn pass_flow(c: &mut OpCall<'_>, i: usize) -> Result<()> {
    let flow = c.take(i)?;
    c.set(0, flow);
    Ok(())
}
