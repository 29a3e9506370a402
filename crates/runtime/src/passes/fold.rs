//! Constant folding: nodes whose inputs are all known are computed once, when the plan is made.

use crate::plan::work_order;
use crate::work::{Kind, Work, WorkNode};
use std::collections::HashMap;
use std::sync::Arc;
use thalweg_core::direct::{self, Runnable};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::grad::{NodeId, Output};
use thalweg_core::kernel::Value;
use thalweg_core::op::Class;
use thalweg_core::step::StepContext;
use thalweg_core::tensor::Tensor;

/// Larger results are computed each time rather than kept in every plan.
const MAX_BYTES: usize = 10 << 20;

/// Turns `Const` nodes into values, which every plan needs, optimised or not.
pub fn read_constants(work: &mut Work) {
    for node in &mut work.nodes {
        if node.op.class == Class::Constant
            && matches!(node.kind, Kind::Op)
            && let Ok(t) = node.attrs.tensor("value")
        {
            node.kind = Kind::Value(t.clone());
        }
    }
}

pub fn fold_constants(work: &mut Work, step: &Arc<StepContext>) -> Result<()> {
    // Outputs of folded nodes that have several, and the value nodes that stand for them. Uses are changed once, at the end.
    let mut moved: HashMap<Output, Output> = HashMap::new();
    for id in work_order(work)? {
        let Some(inputs) = constant_inputs(work, id, &moved) else { continue };
        let Some(results) = compute(work, work.node(id), step, inputs) else { continue };
        replace(work, id, results, &mut moved);
    }
    if !moved.is_empty() {
        redirect(work, |o| moved.get(&o).copied().unwrap_or(o));
    }
    Ok(())
}

/// The values of a foldable node's inputs.
fn constant_inputs(work: &Work, id: NodeId, moved: &HashMap<Output, Output>) -> Option<Vec<Tensor>> {
    let node = work.node(id);
    let foldable = matches!(node.kind, Kind::Op) && node.op.class == Class::Plain && !node.op.stateful;
    // A node with control inputs runs when they say, or not at all.
    if !foldable
        || node.inputs.is_empty()
        || !node.control.is_empty()
        || node.outputs.iter().any(|p| p.is_ref)
    {
        return None;
    }
    node.inputs
        .iter()
        .map(|o| moved.get(o).unwrap_or(o))
        .map(|o| match &work.node(o.node).kind {
            // What a variant holds may have state, as a dataset of a closure does: it is made anew in each run.
            Kind::Value(t) if t.dtype() == DataType::Variant => None,
            Kind::Value(t) if work.node(o.node).control.is_empty() => Some(t.clone()),
            _ => None,
        })
        .collect()
}

fn compute(
    work: &Work,
    node: &WorkNode,
    step: &Arc<StepContext>,
    inputs: Vec<Tensor>,
) -> Option<Vec<Tensor>> {
    let kernel_node = Arc::new(node.kernel_node(&work.registry, "/device:CPU:0").ok()?);
    let runnable = Runnable::make(node.op, &kernel_node, "CPU").ok()?;
    if matches!(runnable, Runnable::Async(_)) {
        return None;
    }
    // An error is left for the run to report, if the node is then still needed.
    let outputs = direct::run(&runnable, &kernel_node, step, inputs).ok()?;
    let tensors: Option<Vec<Tensor>> =
        outputs.into_iter().map(|v| if let Some(Value::Tensor(t)) = v { Some(t) } else { None }).collect();
    tensors.filter(|t| {
        t.len() == node.outputs.len() && t.iter().map(Tensor::byte_len).sum::<usize>() <= MAX_BYTES
    })
}

/// The node becomes its value; a node of several outputs gets one value node for each.
fn replace(work: &mut Work, id: NodeId, mut results: Vec<Tensor>, moved: &mut HashMap<Output, Output>) {
    if results.len() == 1 {
        let node = &mut work.nodes[id.at()];
        node.kind = Kind::Value(results.remove(0));
        node.inputs.clear();
        return;
    }
    let base = work.node(id).clone();
    for (i, t) in results.into_iter().enumerate() {
        let mut node = base.clone();
        node.kind = Kind::Value(t);
        node.inputs.clear();
        node.outputs = smallvec::smallvec![base.outputs[i]];
        moved.insert(id.output(i as u32), work.push(node).output(0));
    }
}

/// Changes every use of an output.
pub fn redirect(work: &mut Work, change: impl Fn(Output) -> Output) {
    for node in &mut work.nodes {
        node.inputs.iter_mut().for_each(|o| *o = change(*o));
    }
    work.fetches.iter_mut().for_each(|o| *o = change(*o));
}
