//! `While`, `StatelessWhile`: a loop body called on its own results while a condition holds.

use super::branch::{declared_shapes, truth};
use crate::prelude::*;

pub static WHILE: Op = Op {
    name: "While",
    doc: "Calls `body` on `input`, then on its own results, while `cond` of them is true.",
    inputs: &["input: T"],
    outputs: &["output: T"],
    attrs: &[
        "T: list(type) >= 0",
        "cond: func",
        "body: func",
        "output_shapes: list(shape) = []",
        "parallel_iterations: int = 10",
    ],
    shape: declared_shapes,
    kernels: cpu!(async prepare),
    class: Class::Call(CallKind::While),
    stateful: true,
    ..Op::PURE
};

pub static STATELESS_WHILE: Op =
    Op { name: "StatelessWhile", doc: "While, of functions without effects.", stateful: false, ..WHILE };

struct Loop {
    cond: Func,
    body: Func,
}

struct WhileKernel(Arc<Loop>);

impl AsyncKernel for WhileKernel {
    fn start(&self, call: AsyncCall, done: Done) {
        match call.tensors(0) {
            Ok(state) => iterate(self.0.clone(), state, call, done),
            Err(e) => done(Err(e)),
        }
    }
}

/// One iteration: the condition, and if it holds the body and the next iteration. Each iteration starts as a task of the pool, so
/// that the stack does not grow with their number.
fn iterate(l: Arc<Loop>, state: Vec<Tensor>, call: AsyncCall, done: Done) {
    if let Some(e) = call.step.cancel.reason() {
        return done(Err(e));
    }
    let step = call.step.clone();
    let held = l.clone();
    step.call(
        &l.cond,
        state.clone(),
        Box::new(move |r| {
            let go_on = r.and_then(|r| truth(r.first().ok_or_else(|| invalid!("cond gave no result"))?));
            match go_on {
                Err(e) => done(Err(e)),
                Ok(false) => done(Ok(outputs(state))),
                Ok(true) => {
                    let step = call.step.clone();
                    let next = held.clone();
                    step.call(
                        &held.body,
                        state,
                        Box::new(move |r| match r {
                            Err(e) => done(Err(e)),
                            Ok(state) => {
                                let pool = call.step.device.pool.clone();
                                pool.spawn(Box::new(move || iterate(next, state, call, done)));
                            }
                        }),
                    );
                }
            }
        }),
    );
}

fn prepare(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    let l = Loop { cond: node.attrs.func("cond")?.clone(), body: node.attrs.func("body")?.clone() };
    Ok(Arc::new(WhileKernel(Arc::new(l))))
}
