//! Calling one op without a graph: for tests, tools and constant folding.

use crate::attr::Attrs;
use crate::error::{Result, internal, unimplemented};
use crate::invalid;
use crate::kernel::{AsyncCall, AsyncKernel, Input, Kernel, KernelNode, OpCall, Outputs, Value, caught};
use crate::op::{Make, Op};
use crate::registry::{Registry, find_kernel};
use crate::signature::infer_attrs;
use crate::step::StepContext;
use crate::tensor::Tensor;
use std::sync::{Arc, mpsc};

/// A node's kernel, ready to run.
#[derive(Clone)]
pub enum Runnable {
    Plain(fn(&mut OpCall<'_>) -> Result<()>),
    Prepared(Arc<dyn Kernel>),
    Async(Arc<dyn AsyncKernel>),
}

impl Runnable {
    /// The kernel for a node on a device type; an error says which types there are kernels for.
    pub fn make(op: &'static Op, node: &KernelNode, device_type: &str) -> Result<Runnable> {
        let row =
            find_kernel(op, &node.attrs, device_type).ok_or_else(|| no_kernel(op, node, device_type))?;
        Ok(match row.make {
            Make::Plain(run) => Runnable::Plain(run),
            Make::Prepared(make) => Runnable::Prepared(Arc::from(make(node)?)),
            Make::Async(make) => Runnable::Async(make(node)?),
        })
    }
}

fn no_kernel(op: &'static Op, node: &KernelNode, device_type: &str) -> crate::error::Error {
    let mut supported: Vec<String> = op
        .kernels
        .iter()
        .map(|row| row.types.iter().map(|(a, t)| format!("{a}={t}")).collect::<Vec<_>>().join(" "))
        .collect();
    supported.dedup();
    let got: Vec<String> = node
        .attrs
        .iter()
        .filter_map(|(n, a)| if let crate::attr::Attr::Type(t) = a { Some(format!("{n}={t}")) } else { None })
        .collect();
    unimplemented(format_args!(
        "No {device_type} kernel for {} with {}; there are kernels for: {}",
        op.name,
        got.join(" "),
        if supported.is_empty() { "nothing".to_string() } else { supported.join(", ") }
    ))
}

/// The node that these inputs and attrs make, with types inferred and attrs completed and checked.
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
    Ok(KernelNode {
        name: op.name.into(),
        op: op.name,
        inputs: signature.input_ports(&attrs)?,
        outputs: signature.output_ports(&attrs)?,
        args: signature.input_ranges(&attrs)?,
        attrs,
        device: "/device:CPU:0".into(),
        location: None,
    })
}

/// Deals flat inputs out to the arguments of a signature: lists take what their attr says, or what is left over.
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
    // Folding runs kernels while a plan is made, where nobody else would catch a panic.
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
