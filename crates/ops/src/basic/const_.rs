//! `Const`: a tensor given with the graph.

use crate::prelude::*;

pub static CONST: Op = Op {
    name: "Const",
    doc: "The tensor in attr `value`.",
    outputs: &["output: dtype"],
    attrs: &["value: tensor", "dtype: type"],
    shape,
    grad: Stops,
    kernels: cpu!(make prepare),
    cases: |r| {
        let t = r.tensor(&[2, 3]);
        vec![Case::new(vec![]).attr("dtype", t.dtype()).attr("value", t)]
    },
    class: Class::Constant,
    ..Op::PURE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let value = c.attrs.tensor("value")?;
    let dtype = c.attrs.dtype("dtype")?;
    if value.dtype() != dtype {
        return Err(invalid!("attr 'value' is a {} tensor, but attr 'dtype' says {dtype}", value.dtype()));
    }
    Ok(vec![value.shape().into()])
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let value = node.attrs.tensor("value")?.clone();
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        c.set(0, value.clone());
        Ok(())
    }))
}
