//! `If`, `Case` and their stateless forms: call one of several functions, chosen by a value.

use super::call::run_function;
use crate::prelude::*;

pub static IF: Op = Op {
    name: "If",
    doc: "Calls `then_branch` or `else_branch` on `input`, by the truth of `cond`.",
    inputs: &["cond: Tcond", "input: Tin"],
    outputs: &["output: Tout"],
    attrs: &[
        "Tcond: type",
        "Tin: list(type) >= 0",
        "Tout: list(type) >= 0",
        "then_branch: func",
        "else_branch: func",
        "output_shapes: list(shape) = []",
    ],
    shape: declared_shapes,
    kernels: cpu!(async prepare_if),
    class: Class::Call(CallKind::If),
    stateful: true,
    ..Op::PURE
};

pub static STATELESS_IF: Op =
    Op { name: "StatelessIf", doc: "If, of functions without effects.", stateful: false, ..IF };

pub static CASE: Op = Op {
    name: "Case",
    doc: "Calls the branch numbered `branch_index` on `input`; the last one if out of range.",
    inputs: &["branch_index: int32", "input: Tin"],
    outputs: &["output: Tout"],
    attrs: &[
        "Tin: list(type) >= 0",
        "Tout: list(type) >= 0",
        "branches: list(func) >= 1",
        "output_shapes: list(shape) = []",
    ],
    kernels: cpu!(async prepare_case),
    class: Class::Call(CallKind::Case),
    ..IF
};

pub static STATELESS_CASE: Op =
    Op { name: "StatelessCase", doc: "Case, of functions without effects.", stateful: false, ..CASE };

/// The shapes declared by attr `output_shapes`, if any.
pub fn declared_shapes(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let declared = c.attrs.shapes("output_shapes")?;
    if declared.len() == c.outputs { Ok(declared) } else { shape_call::unknown(c) }
}

struct Branches {
    functions: Vec<Func>,
    pick: fn(&Tensor, usize) -> Result<usize>,
}

impl AsyncKernel for Branches {
    fn start(&self, call: AsyncCall, done: Done) {
        let picked = call.tensor(0).and_then(|t| (self.pick)(&t, self.functions.len()));
        let f = picked.and_then(|i| self.functions.get(i).ok_or_else(|| internal("branch out of range")));
        match (f, call.tensors(1)) {
            (Ok(f), Ok(args)) => run_function(f, args, &call, done),
            (Err(e), _) | (_, Err(e)) => done(Err(e)),
        }
    }
}

fn prepare_if(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    let functions = vec![node.attrs.func("then_branch")?.clone(), node.attrs.func("else_branch")?.clone()];
    Ok(Arc::new(Branches { functions, pick: |t, _| Ok(if truth(t)? { 0 } else { 1 }) }))
}

fn prepare_case(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    let functions = node.attrs.funcs("branches")?.into_iter().cloned().collect();
    let pick = |t: &Tensor, n: usize| {
        let i = t.to_scalar::<i32>()?;
        Ok(usize::try_from(i).ok().filter(|i| *i < n).unwrap_or(n.saturating_sub(1)))
    };
    Ok(Arc::new(Branches { functions, pick }))
}

/// Truth as in Python: a non-zero scalar, or a non-empty string or tensor.
pub fn truth(t: &Tensor) -> Result<bool> {
    if !t.shape().is_scalar() {
        return Ok(t.elements() > 0);
    }
    match t.dtype() {
        DataType::String => Ok(!t.strings()?[0].is_empty()),
        DataType::Bool => t.to_scalar::<bool>(),
        DataType::Float => Ok(t.to_scalar::<f32>()? != 0.0),
        DataType::Double => Ok(t.to_scalar::<f64>()? != 0.0),
        other if other.is_integer() => Ok(t.bytes()?.iter().any(|b| *b != 0)),
        other => Err(invalid!("a {other} has no truth value")),
    }
}
