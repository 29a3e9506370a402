//! `SymbolicGradient`: the gradient of a function, made from its body.

use super::call::run_function;
use crate::prelude::*;

pub static SYMBOLIC_GRADIENT: Op = Op {
    name: "SymbolicGradient",
    doc: "The gradients of the arguments of function `f`, from the arguments and the gradients of its results.",
    inputs: &["input: Tin"],
    outputs: &["output: Tout"],
    attrs: &["Tin: list(type) >= 1", "Tout: list(type) >= 1", "f: func"],
    shape: as_arguments,
    kernels: cpu!(async prepare),
    class: Class::Call(CallKind::Gradient),
    ..Op::PURE
};

/// A gradient has the shape of its argument; that of a variable's handle is not known here.
fn as_arguments(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (given, made) = (c.attrs.types("Tin")?, c.attrs.types("Tout")?);
    if given.len() < made.len() {
        return Err(invalid!(
            "length of inputs must be at least that of outputs, got {} and {}",
            given.len(),
            made.len()
        ));
    }
    let same = |(i, (x, dx)): (usize, (&DataType, &DataType))| {
        if x == dx { c.input(i) } else { PartialShape::unknown() }
    };
    Ok(given.iter().zip(&made).enumerate().map(same).collect())
}

struct Gradient(Func);

impl AsyncKernel for Gradient {
    fn start(&self, call: AsyncCall, done: Done) {
        match call.tensors(0) {
            Ok(args) => run_function(&self.0, args, &call, done),
            Err(e) => done(Err(e)),
        }
    }
}

/// The runtime knows the gradient of a function by the op's name.
fn prepare(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    let mut attrs = Attrs::new();
    attrs.set("f", node.attrs.func("f")?.clone());
    attrs.set("Tout", Attr::types(&node.attrs.types("Tout")?));
    Ok(Arc::new(Gradient(Func { name: node.op.to_string(), attrs })))
}
