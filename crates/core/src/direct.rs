//! Calling one op without a graph: for tests, tools and constant folding.

use crate::attr::Attrs;
use crate::error::{Result, internal};
use crate::invalid;
use crate::kernel::{AsyncCall, Input, KernelNode, OpCall, Outputs, Value, caught};
use crate::op::Op;
use crate::registry::Registry;
use crate::runnable::Runnable;
use crate::signature::infer_attrs;
use crate::step::StepContext;
use crate::tensor::Tensor;
use std::sync::{Arc, mpsc};

/// Makes a node for these inputs and attrs: types inferred, attrs completed and validated.
pub fn node_for(
    registry: &Registry,
    op: &'static Op,
    inputs: &[Tensor],
    mut attrs: Attrs,
) -> Result<KernelNode> {
    let signature = registry.signature(op)?;
    let given = split_by_argument(signature, inputs, &attrs)?;
    infer_attrs(signature, &given, &mut attrs)?;
    signature.complete(&mut attrs)?;
    KernelNode::new(op, signature, op.name.into(), attrs, "/device:CPU:0".into())
}

/// Splits flat inputs by argument of a signature: a list takes as many as its attr says, or the rest.
fn split_by_argument(
    signature: &crate::signature::Signature,
    inputs: &[Tensor],
    attrs: &Attrs,
) -> Result<Vec<Vec<crate::dtype::DataType>>> {
    let singles = signature.inputs.iter().filter(|a| a.number.is_none() && !is_list(a)).count();
    let lists = signature.inputs.len() - singles;
    let spare = inputs
        .len()
        .checked_sub(singles)
        .ok_or_else(|| invalid!("takes more inputs than {}", inputs.len()))?;
    let mut rest = inputs;
    let mut given = Vec::new();
    for arg in &signature.inputs {
        let n = match (&arg.number, &arg.ty) {
            (Some(number), _) => attrs.int(number).map(|n| n as usize).unwrap_or(spare / lists.max(1)),
            (None, crate::signature::ArgType::List(name)) => {
                attrs.types(name).map(|t| t.len()).unwrap_or(spare / lists.max(1))
            }
            _ => 1,
        };
        let (head, tail) =
            rest.split_at_checked(n).ok_or_else(|| invalid!("too few inputs for '{}'", arg.name))?;
        given.push(head.iter().map(|t| t.dtype()).collect());
        rest = tail;
    }
    if rest.is_empty() { Ok(given) } else { Err(invalid!("takes {} fewer inputs than given", rest.len())) }
}

fn is_list(arg: &crate::signature::ArgSpec) -> bool {
    matches!(arg.ty, crate::signature::ArgType::List(_))
}

/// Runs a kernel on these inputs and waits for it.
pub fn run(
    runnable: &Runnable,
    node: &Arc<KernelNode>,
    step: &Arc<StepContext>,
    inputs: Vec<Tensor>,
) -> Result<Outputs> {
    let blame = |e: crate::error::Error| e.at_node(&node.name, node.op).at(node.location);
    if let Runnable::Async(kernel) = runnable {
        let (tx, rx) = mpsc::channel();
        let inputs = inputs.into_iter().map(Value::Tensor).collect();
        let call =
            AsyncCall { inputs, node: node.clone(), step: step.clone(), frame_iter: (0, 0), is_dead: false };
        kernel.start(call, Box::new(move |r| drop(tx.send(r))));
        return rx.recv().map_err(|_| internal("kernel never answered"))?.map_err(blame);
    }
    let mut call = OpCall::new(node, step, inputs.into_iter().map(Input::Owned).collect());
    // Constant folding runs kernels outside of an executor, which would catch panics.
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match runnable {
        Runnable::Plain(f) => f(&mut call),
        Runnable::Prepared(k) => k.compute(&mut call),
        Runnable::Async(_) => Ok(()),
    }));
    ran.unwrap_or_else(|panic| Err(caught(&*panic))).map_err(blame)?;
    Ok(call.outputs)
}

/// Runs one op on these inputs: `call(&registry, &step, "MatMul", vec![a, b], attrs)`.
pub fn call(
    registry: &Registry,
    step: &Arc<StepContext>,
    op: &str,
    inputs: Vec<Tensor>,
    attrs: Attrs,
) -> Result<Vec<Tensor>> {
    let op = registry.find(op)?;
    let node = Arc::new(node_for(registry, op, &inputs, attrs).map_err(|e| e.at_node(op.name, op.name))?);
    let runnable = Runnable::make(op, &node, "CPU").map_err(|e| e.at_node(op.name, op.name))?;
    let outputs = run(&runnable, &node, step, inputs)?;
    (0..node.outputs.len())
        .map(|i| match outputs.get(i) {
            Some(Some(v)) => v.clone().into_tensor(),
            _ => Err(internal(format_args!("{} did not set output {i}", op.name))),
        })
        .collect()
}
