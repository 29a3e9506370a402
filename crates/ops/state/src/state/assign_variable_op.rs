//! `AssignVariableOp`, `AssignAddVariableOp`, `AssignSubVariableOp`: resource variable updates.

use crate::prelude::*;

pub static ASSIGN_VARIABLE_OP: Op = Op {
    name: "AssignVariableOp",
    doc: "Sets a resource variable to `value`.",
    inputs: &["resource: resource", "value: dtype"],
    attrs: &["dtype: type", "validate_shape: bool = false"],
    shape: |c| {
        if let Some((_, shape)) = c.handle(0) {
            shape.merge(&c.input(1))?;
        }
        Ok(vec![])
    },
    kernels: cpu!(make prepare),
    ..Op::STATEFUL
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let validate = node.attrs.bool("validate_shape")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (value, v) = (c.take(1)?, c.resource::<Variable>(0)?);
        match v.get() {
            Some(old) if validate && old.shape() != value.shape() => Err(invalid!(
                "Trying to assign to variable with tensor with wrong shape. Expected {} got {}",
                old.shape(),
                value.shape()
            )),
            _ => v.assign(value, false),
        }
    }))
}

pub static ASSIGN_ADD_VARIABLE_OP: Op = Op {
    name: "AssignAddVariableOp",
    doc: "Adds `value` to a resource variable.",
    attrs: &["dtype: type"],
    kernels: cpu!(add: dtype in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    ..ASSIGN_VARIABLE_OP
};

pub static ASSIGN_SUB_VARIABLE_OP: Op = Op {
    name: "AssignSubVariableOp",
    doc: "Subtracts `value` from a resource variable.",
    kernels: cpu!(sub: dtype in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    ..ASSIGN_ADD_VARIABLE_OP
};

fn add<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    change_in_place(&*c.resource::<Variable>(0)?, c.input(1)?, |x: &mut T, d| *x = x.add(d))
}

fn sub<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    change_in_place(&*c.resource::<Variable>(0)?, c.input(1)?, |x: &mut T, d| *x = x.sub(d))
}

/// Updates a variable elementwise by `delta`. An error, without any change, if the shapes differ.
pub fn change_in_place<T: Element>(v: &Variable, delta: &Tensor, change: impl Fn(&mut T, T)) -> Result<()> {
    let deltas = delta.as_slice::<T>()?;
    v.update(|value| {
        if value.shape() != delta.shape() {
            return Err(invalid!(
                "variable {} has shape {}, the change has {}",
                v.name,
                value.shape(),
                delta.shape()
            ));
        }
        for (x, d) in value.as_mut_slice::<T>()?.iter_mut().zip(deltas) {
            change(x, *d);
        }
        Ok(())
    })
}
