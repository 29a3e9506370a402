//! `RefSelect`: one of several references. `MakeWeakResourceHandle`: a handle that does not keep its resource.

use crate::prelude::*;

pub static REF_SELECT: Op = Op {
    name: "RefSelect",
    doc: "The reference number `index` of its inputs.",
    inputs: &["index: int32", "inputs: N * Ref(T)"],
    outputs: &["output: Ref(T)"],
    attrs: &["T: type", "N: int >= 1"],
    shape: |c| {
        c.scalar(0)?;
        let mut all = c.inputs.iter().skip(1);
        let first = all.next().cloned().unwrap_or_default();
        Ok(vec![if all.all(|s| *s == first) { first } else { PartialShape::unknown() }])
    },
    kernels: cpu!(select),
    ..Op::STATEFUL
};

fn select(c: &mut OpCall<'_>) -> Result<()> {
    let (index, n) = (c.scalar::<i32>(0)?, c.inputs.len().saturating_sub(1));
    let at = usize::try_from(index).ok().filter(|at| *at < n);
    let at = at.ok_or_else(|| invalid!("Index must be in the range [0, {n}) but got {index}"))?;
    let v = c.reference(at + 1)?.clone();
    c.set(0, Value::Ref(v));
    Ok(())
}

pub static MAKE_WEAK_RESOURCE_HANDLE: Op = Op {
    name: "MakeWeakResourceHandle",
    doc: "A handle to the same resource by name alone, which does not keep it.",
    inputs: &["handle: resource"],
    outputs: &["dup: resource"],
    shape: shape_call::scalar,
    kernels: cpu!(weak),
    ..Op::STATEFUL
};

fn weak(c: &mut OpCall<'_>) -> Result<()> {
    let mut handle = c.handle(0)?.clone();
    handle.target = None;
    c.set(0, Tensor::from_object(handle));
    Ok(())
}
