//! `Assign`, `AssignAdd`, `AssignSub`: reference variable updates.

use super::assign_variable_op::change_in_place;
use crate::prelude::*;

pub static ASSIGN: Op = Op {
    name: "Assign",
    doc: "Sets a reference variable to `value`; the output is the reference.",
    inputs: &["ref: Ref(T)", "value: T"],
    outputs: &["output_ref: Ref(T)"],
    attrs: &["T: type", "validate_shape: bool = true", "use_locking: bool = true"],
    shape: |c| {
        if c.attrs.bool("validate_shape")? {
            return Ok(vec![c.input(0).merge(&c.input(1))?]);
        }
        Ok(vec![c.input(1)])
    },
    kernels: cpu!(make prepare),
    ..Op::STATEFUL
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let validate = node.attrs.bool("validate_shape")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let v = c.reference(0)?.clone();
        v.assign(c.take(1)?, validate)?;
        c.set(0, Value::Ref(v));
        Ok(())
    }))
}

pub static ASSIGN_ADD: Op = Op {
    name: "AssignAdd",
    doc: "Adds `value` to a reference variable; the output is the reference.",
    attrs: &["T: numbertype", "use_locking: bool = false"],
    shape: shape_call::all_inputs_alike,
    kernels: cpu!(add: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    ..ASSIGN
};

pub static ASSIGN_SUB: Op = Op {
    name: "AssignSub",
    doc: "Subtracts `value` from a reference variable; the output is the reference.",
    kernels: cpu!(sub: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    ..ASSIGN_ADD
};

fn add<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let v = c.reference(0)?.clone();
    change_in_place(&v, c.input(1)?, |x: &mut T, d| *x = x.add(d))?;
    c.set(0, Value::Ref(v));
    Ok(())
}

fn sub<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let v = c.reference(0)?.clone();
    change_in_place(&v, c.input(1)?, |x: &mut T, d| *x = x.sub(d))?;
    c.set(0, Value::Ref(v));
    Ok(())
}
