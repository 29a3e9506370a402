//! `Switch`: forwards its input to the output selected by the predicate; the other is dead.

use crate::prelude::*;

pub static SWITCH: Op = Op {
    name: "Switch",
    doc: "Forwards `data` to output_true if `pred`, else output_false; the other output is dead.",
    inputs: &["data: T", "pred: bool"],
    outputs: &["output_false: T", "output_true: T"],
    attrs: &["T: type"],
    shape,
    grad: Rule(grad),
    kernels: cpu!(run),
    class: Class::Switch,
    ..Op::PURE
};

pub static REF_SWITCH: Op = Op {
    name: "RefSwitch",
    doc: "Switch for a reference.",
    inputs: &["data: Ref(T)", "pred: bool"],
    outputs: &["output_false: Ref(T)", "output_true: Ref(T)"],
    kernels: cpu!(run_ref),
    ..SWITCH
};

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    c.scalar(1)?;
    c.all(c.input(0))
}

/// The gradients of the two outputs are merged; only one of them is live.
fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let sides = vec![g.dy_or_zeros(0)?, g.dy_or_zeros(1)?];
    let dx = g.op("Merge", [Arg::List(sides)], &[])?;
    Ok(vec![dx.into(), Grad::None])
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let side = c.scalar::<bool>(1)? as usize;
    let x = c.take(0)?;
    c.set(side, x);
    Ok(())
}

fn run_ref(c: &mut OpCall<'_>) -> Result<()> {
    let side = c.scalar::<bool>(1)? as usize;
    let x = c.reference(0)?.clone();
    c.set(side, Value::Ref(x));
    Ok(())
}
