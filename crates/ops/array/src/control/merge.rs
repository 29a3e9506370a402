//! `Merge`: the first live input, and its index.

use crate::prelude::*;

pub static MERGE: Op = Op {
    name: "Merge",
    doc: "Forwards the first live input, and its index.",
    inputs: &["inputs: N * T"],
    outputs: &["output: T", "value_index: int32"],
    attrs: &["T: type", "N: int >= 1"],
    shape,
    grad: Rule(grad),
    kernels: cpu!(run),
    class: Class::Merge,
    ..Op::PURE
};

pub static REF_MERGE: Op = Op {
    name: "RefMerge",
    doc: "Merge for references.",
    inputs: &["inputs: N * Ref(T)"],
    outputs: &["output: Ref(T)", "value_index: int32"],
    ..MERGE
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let first = c.input(0);
    let common = c.inputs.iter().fold(first, |s, other| s.common(other));
    Ok(vec![common, PartialShape::scalar()])
}

/// The live input gets the gradient.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let dy = g.dy()?;
    match g.x.len() {
        1 => Ok(vec![dy.into()]),
        2 => {
            let which = g.op("Cast", [g.y[1].into()], &[("DstT", Attr::Type(DataType::Bool))])?;
            let sides = g.ops("Switch", [dy.into(), which.into()], &[])?;
            Ok(sides.into_iter().map(Grad::Dense).collect())
        }
        n => Err(unimplemented(format_args!("the gradient of a Merge of {n} inputs"))),
    }
}

/// The executor passes the live input as input 0 and its index as input 1.
fn run(c: &mut OpCall<'_>) -> Result<()> {
    let index = c.take(1)?;
    let value = match c.reference(0) {
        Ok(v) => Value::Ref(v.clone()),
        Err(_) => Value::Tensor(c.take(0)?),
    };
    c.set(0, value);
    c.set(1, index);
    Ok(())
}
