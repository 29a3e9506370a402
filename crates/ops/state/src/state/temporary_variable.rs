//! `TemporaryVariable`, `DestroyTemporaryVariable`: a variable for one step.

use crate::prelude::*;

pub static TEMPORARY_VARIABLE: Op = Op {
    name: "TemporaryVariable",
    doc: "A reference variable, freed with the step or by DestroyTemporaryVariable.",
    outputs: &["ref: Ref(dtype)"],
    attrs: &["shape: shape", "dtype: type", "var_name: string = ''"],
    shape: |c| Ok(vec![c.attrs.shape("shape")?.clone()]),
    kernels: cpu!(make prepare),
    ..Op::STATEFUL
};

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let (dtype, partial) = (node.attrs.dtype("dtype")?, node.attrs.shape("shape")?.clone());
    let shape = partial.to_shape().ok_or_else(|| invalid!("the shape {partial} must be fully known"))?;
    let name = match node.attrs.str("var_name")? {
        "" => node.name.to_string(),
        name => name.to_string(),
    };
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let name = name_in_frame(&name, c);
        let mut made = false;
        let v = c.step.scratch().get_or_create("", &name, || {
            made = true;
            let v = Variable::new(&name, dtype, partial.clone());
            v.assign(Tensor::zeros(dtype, shape.clone())?, false)?;
            Ok(v)
        })?;
        if !made {
            return Err(already_exists(format_args!("the step has a temporary variable {name} already")));
        }
        c.set(0, Value::Ref(v));
        Ok(())
    }))
}

/// One per loop iteration.
fn name_in_frame(name: &str, c: &OpCall<'_>) -> String {
    format!("{name}/frame:{}/iter:{}", c.frame_iter.0, c.frame_iter.1)
}

pub static DESTROY_TEMPORARY_VARIABLE: Op = Op {
    name: "DestroyTemporaryVariable",
    doc: "Frees a temporary variable, and outputs its value.",
    inputs: &["ref: Ref(T)"],
    outputs: &["value: T"],
    attrs: &["T: type", "var_name: string"],
    shape: same_as_input,
    kernels: cpu!(destroy),
    ..Op::STATEFUL
};

fn destroy(c: &mut OpCall<'_>) -> Result<()> {
    let value = c.reference(0)?.read()?;
    let name = name_in_frame(c.attrs().str("var_name")?, c);
    c.step.scratch().remove("", &name)?;
    c.set(0, value);
    Ok(())
}
