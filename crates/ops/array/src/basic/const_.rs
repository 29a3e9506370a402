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
    Ok(vec![value_of(c.attrs)?.shape().into()])
}

fn value_of(attrs: &Attrs) -> Result<&Tensor> {
    let (value, dtype) = (attrs.tensor("value")?, attrs.dtype("dtype")?);
    if value.dtype() != dtype {
        return Err(invalid!("attr 'value' is a {} tensor, but attr 'dtype' says {dtype}", value.dtype()));
    }
    Ok(value)
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let value = value_of(&node.attrs)?.clone();
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        c.set(0, value.clone());
        Ok(())
    }))
}
