//! `Enter`, `Exit`, `NextIteration`, `LoopCond`, `ControlTrigger`: frames and their iterations.

use crate::prelude::*;

pub static ENTER: Op = Op {
    name: "Enter",
    doc: "Forwards a value into the loop frame `frame_name`.",
    inputs: &["data: T"],
    outputs: &["output: T"],
    attrs: &["T: type", "frame_name: string", "is_constant: bool = false", "parallel_iterations: int = 10"],
    // The shape of a loop variable may change between iterations; that of a loop invariant does not.
    shape: |c| Ok(vec![if c.attrs.bool("is_constant")? { c.input(0) } else { PartialShape::unknown() }]),
    kernels: cpu!(pass),
    class: Class::Enter,
    ..Op::PURE
};

pub static REF_ENTER: Op = Op {
    name: "RefEnter",
    doc: "Enter for a reference.",
    inputs: &["data: Ref(T)"],
    outputs: &["output: Ref(T)"],
    ..ENTER
};

pub static EXIT: Op = Op {
    name: "Exit",
    doc: "Forwards a value out of its frame.",
    inputs: &["data: T"],
    outputs: &["output: T"],
    attrs: &["T: type"],
    shape: same_as_input,
    kernels: cpu!(pass),
    class: Class::Exit,
    ..Op::PURE
};

pub static REF_EXIT: Op = Op {
    name: "RefExit",
    doc: "Exit for a reference.",
    inputs: &["data: Ref(T)"],
    outputs: &["output: Ref(T)"],
    ..EXIT
};

pub static NEXT_ITERATION: Op = Op {
    name: "NextIteration",
    doc: "Forwards a value to the next iteration.",
    inputs: &["data: T"],
    outputs: &["output: T"],
    attrs: &["T: type"],
    shape: same_as_input,
    kernels: cpu!(pass),
    class: Class::NextIteration,
    ..Op::PURE
};

pub static REF_NEXT_ITERATION: Op = Op {
    name: "RefNextIteration",
    doc: "NextIteration for a reference.",
    inputs: &["data: Ref(T)"],
    outputs: &["output: Ref(T)"],
    ..NEXT_ITERATION
};

pub static LOOP_COND: Op = Op {
    name: "LoopCond",
    doc: "Marks and forwards the condition of a loop.",
    inputs: &["input: bool"],
    outputs: &["output: bool"],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(pass),
    class: Class::LoopCond,
    ..Op::PURE
};

pub static CONTROL_TRIGGER: Op = Op {
    name: "ControlTrigger",
    doc: "Does nothing, and is never dead: starts what depends on it even in a branch not taken.",
    grad: Stops,
    kernels: cpu!(nothing),
    never_dead: true,
    ..Op::PURE
};

fn pass(c: &mut OpCall<'_>) -> Result<()> {
    let value = match c.reference(0) {
        Ok(v) => Value::Ref(v.clone()),
        Err(_) => Value::Tensor(c.take(0)?),
    };
    c.set(0, value);
    Ok(())
}

fn nothing(_: &mut OpCall<'_>) -> Result<()> {
    Ok(())
}
