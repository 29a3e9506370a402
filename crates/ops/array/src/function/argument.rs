//! `_Arg`, `_Retval`: the arguments and results of a function body.

use crate::prelude::*;

pub static ARG: Op = Op {
    name: "_Arg",
    doc: "An argument of the function that this is the body of.",
    outputs: &["output: T"],
    attrs: &["T: type", "index: int >= 0"],
    grad: Stops,
    kernels: cpu!(unfed),
    class: Class::Argument,
    ..Op::STATEFUL
};

pub static RETVAL: Op = Op {
    name: "_Retval",
    doc: "A result of the function that this is the body of.",
    inputs: &["input: T"],
    attrs: &["T: type", "index: int >= 0"],
    grad: Stops,
    kernels: cpu!(nothing),
    class: Class::Return,
    ..Op::STATEFUL
};

fn unfed(c: &mut OpCall<'_>) -> Result<()> {
    Err(internal(format_args!("argument {} was not given", c.attrs().int("index")?)))
}

fn nothing(_: &mut OpCall<'_>) -> Result<()> {
    Ok(())
}
