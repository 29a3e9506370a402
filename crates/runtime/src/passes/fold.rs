//! Constant folding: nodes whose inputs are all constant are computed once, when the plan is made. So are those that only need the
//! shape of an input, where that is known. Nodes that would return their input unchanged are removed.

use super::dropped_reads::DroppedReads;
use super::fuse;
use super::shapes::{KnownShapes, Shapes};
use crate::work::{Kind, Work, WorkNode, work_order};
use std::collections::HashMap;
use std::sync::Arc;
use thalweg_core::direct;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::kernel::Value;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;
use thalweg_core::runnable::Runnable;
use thalweg_core::shape::Shape;
use thalweg_core::step::StepContext;
use thalweg_core::tensor::Tensor;
use thalweg_graph::constant::constant_value;

/// Larger results are computed in each run instead of being kept in every plan.
const MAX_BYTES: usize = 10 << 20;

/// Turns `Const` nodes into values, which every plan needs, optimised or not.
pub fn read_constants(work: &mut Work) {
    for node in &mut work.nodes {
        if node.op.class == Class::Constant
            && matches!(node.kind, Kind::Op)
            && let Some(t) = constant_value(&node.attrs, &node.outputs)
        {
            node.kind = Kind::Value(t.clone());
        }
    }
}

/// Larger values that depend on a shape only are made in each run, which is as fast as reading them.
const MAX_FILLED_BYTES: usize = 16 << 10;

pub fn fold_constants(work: &mut Work, step: &Arc<StepContext>, known_shapes: &KnownShapes) -> Result<()> {
    let mut shapes = Shapes::new(work, known_shapes);
    // Outputs that are replaced: those of folded nodes with several outputs, by value nodes; those of removed nodes, by their input.
    // Uses are changed once, at the end.
    let mut moved: HashMap<Output, Output> = HashMap::new();
    let mut dropped = DroppedReads::default();
    for id in work_order(work)? {
        work.until.check()?;
        let known = known_inputs(work, id, &moved, &shapes);
        let known = known.filter(|_| {
            shapes.visit(work, id, &moved);
            !is_too_large(work.node(id), id, &shapes)
        });
        if let Some(results) = known.and_then(|inputs| compute(work, work.node(id), step, inputs)) {
            dropped.look(work, id);
            replace(work, id, results, &mut moved);
        } else if let Some(values) = values_of_shapes(work.node(id), &shapes) {
            dropped.look(work, id);
            replace(work, id, values, &mut moved);
        }
        shapes.visit(work, id, &moved);
        broadcast_uniform_operand(work, id, &shapes);
        if let Some(same) = same_as_input(work, id, &moved, &shapes) {
            moved.insert(id.output(0), moved.get(&same).copied().unwrap_or(same));
        }
    }
    if !moved.is_empty() {
        redirect(work, |o| moved.get(&o).copied().unwrap_or(o));
    }
    dropped.make(work)
}

/// A node with control inputs must wait for them, and may be dead.
fn is_foldable(node: &WorkNode) -> bool {
    let plain = matches!(node.kind, Kind::Op) && node.op.class == Class::Plain && !node.op.stateful;
    plain && !node.inputs.is_empty() && node.control.is_empty() && node.outputs.iter().all(|p| !p.is_ref)
}

/// Whether the results would be discarded, by their inferred shapes: computing them would cost compile time and memory.
fn is_too_large(node: &WorkNode, id: NodeId, shapes: &Shapes<'_>) -> bool {
    let bytes = node.outputs.iter().enumerate().map(|(i, port)| {
        let elements = shapes.shape(id.output(i as u32)).map_or(0, |s| s.elements());
        elements.saturating_mul(port.dtype.size())
    });
    bytes.fold(0, usize::saturating_add) > MAX_BYTES
}

/// The outputs of a node that follow from the shapes of its inputs alone.
fn values_of_shapes(node: &WorkNode, shapes: &Shapes<'_>) -> Option<Vec<Tensor>> {
    let rule = node.op.shape_value.filter(|_| is_foldable(node))?;
    node.inputs.iter().map(|input| rule(&(&shapes.shape(*input)?).into(), &node.attrs)).collect()
}

/// The input that a node returns unchanged. Its second input (a shape, axes, multiples) must be constant: it may be invalid.
fn same_as_input(
    work: &Work,
    id: NodeId,
    moved: &HashMap<Output, Output>,
    shapes: &Shapes<'_>,
) -> Option<Output> {
    let node = work.node(id);
    let [input, argument] = *node.inputs.as_slice() else { return None };
    let argument = moved.get(&argument).copied().unwrap_or(argument);
    let known = matches!(work.node(argument.node).kind, Kind::Value(_));
    let same = known && is_foldable(node) && node.op.identity_if_same_shape;
    (same && shapes.shape(input)? == shapes.shape(id.output(0))?).then_some(input)
}

/// A constant operand of an elementwise op with all elements equal, as the gradient of a mean, becomes a scalar that broadcasts.
fn broadcast_uniform_operand(work: &mut Work, id: NodeId, shapes: &Shapes<'_>) {
    let node = work.node(id);
    let [a, b] = *node.inputs.as_slice() else { return };
    if fuse::fusible(node).is_none() || !is_foldable(node) {
        return;
    }
    let Some(shape) = shapes.shape(id.output(0)) else { return };
    for (at, operand, other) in [(0, a, b), (1, b, a)] {
        let same = shapes.shape(other).is_some_and(|s| s == shape);
        let Kind::Value(t) = &work.node(operand.node).kind else { continue };
        if let Some(one) = uniform_element(t).filter(|_| same) {
            let value = WorkNode { kind: Kind::Value(one), ..work.node(operand.node).clone() };
            let value = work.push(value).output(0);
            work.nodes[id.at()].inputs[at] = value;
        }
    }
}

fn uniform_element(t: &Tensor) -> Option<Tensor> {
    if t.elements() < 2 || t.byte_len() > MAX_FILLED_BYTES {
        return None;
    }
    let (one, rest) = t.bytes().ok()?.split_at_checked(t.dtype().size())?;
    let same = rest.chunks_exact(one.len()).all(|x| x == one);
    Tensor::from_bytes(t.dtype(), Shape::scalar(), one).ok().filter(|_| same)
}

/// The values of a foldable node's inputs; for an op that only fills a shape, zeros of that shape.
fn known_inputs(
    work: &Work,
    id: NodeId,
    moved: &HashMap<Output, Output>,
    shapes: &Shapes<'_>,
) -> Option<Vec<Tensor>> {
    let node = work.node(id);
    if !is_foldable(node) {
        return None;
    }
    if node.op.fills {
        let (shape, dtype) = (shapes.shape(*node.inputs.first()?)?, node.outputs.first()?.dtype);
        // The zeros of a list or an optional have its elements, which the shape does not show.
        if dtype == DataType::Variant {
            return None;
        }
        let small = shape.elements() <= MAX_FILLED_BYTES / dtype.size().max(1);
        return if small { Tensor::zeros(dtype, shape).ok().map(|t| vec![t]) } else { None };
    }
    node.inputs
        .iter()
        .map(|o| moved.get(o).unwrap_or(o))
        .map(|o| match &work.node(o.node).kind {
            // A variant may have state, as a dataset of a closure does: each run makes its own.
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
    let kernel_node = Arc::new(node.kernel_node(&work.registry, &step.device.name).ok()?);
    let runnable = Runnable::make(node.op, &kernel_node, "CPU").ok()?;
    if matches!(runnable, Runnable::Async(_)) {
        return None;
    }
    // Errors are reported by the run, which may not need the node.
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
    // Without its inputs and outputs: each of the values would copy them.
    let mut base = work.node(id).clone();
    base.inputs.clear();
    let ports = std::mem::take(&mut base.outputs);
    for (i, (t, port)) in results.into_iter().zip(ports).enumerate() {
        let mut node = base.clone();
        node.kind = Kind::Value(t);
        node.outputs.push(port);
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
