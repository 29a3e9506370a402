//! `PartitionedCall`, `StatefulPartitionedCall`: calls of a function.

use crate::prelude::*;

pub static PARTITIONED_CALL: Op = Op {
    name: "PartitionedCall",
    doc: "Calls function `f` on its inputs.",
    inputs: &["args: Tin"],
    outputs: &["output: Tout"],
    attrs: &[
        "Tin: list(type) >= 0",
        "Tout: list(type) >= 0",
        "f: func",
        "config: string = ''",
        "config_proto: string = ''",
        "executor_type: string = ''",
    ],
    kernels: cpu!(async prepare),
    class: Class::Call(CallKind::Function),
    ..Op::PURE
};

pub static STATEFUL_PARTITIONED_CALL: Op = Op {
    name: "StatefulPartitionedCall",
    doc: "Calls function `f`, which may have effects, on its inputs.",
    stateful: true,
    ..PARTITIONED_CALL
};

/// Calls a function with the inputs of the node, and completes with its results.
pub fn run_function(f: &Func, args: Vec<Tensor>, call: &AsyncCall, done: Done) {
    call.step.call(f, args, Box::new(move |r| done(r.map(outputs))));
}

struct Call(Func);

impl AsyncKernel for Call {
    fn start(&self, call: AsyncCall, done: Done) {
        match call.tensors(0) {
            Ok(args) => run_function(&self.0, args, &call, done),
            Err(e) => done(Err(e)),
        }
    }
}

fn prepare(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(Call(node.attrs.func("f")?.clone())))
}
