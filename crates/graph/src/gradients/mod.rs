//! Automatic differentiation: adds to a graph the nodes that compute the gradients of some outputs.

mod accumulate;

use crate::graph::Graph;
use accumulate::sum_grads;
pub use accumulate::to_dense;
use std::collections::{HashMap, HashSet};
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, internal, unimplemented};
use thalweg_core::grad::{Builder, Grad, GradCall, NodeId, Output};
use thalweg_core::invalid;
use thalweg_core::op::Gradient;

#[derive(Default)]
pub struct Options<'a> {
    /// Gradients to start from, one for each `y`; ones where none are given.
    pub grad_ys: &'a [Output],
    /// Outputs through which nothing flows back.
    pub stop: &'a [Output],
}

/// The gradients of the sum of `ys` with respect to each of `xs`; `Grad::None` where `ys` do not depend on it.
pub fn gradients(
    graph: &mut Graph,
    ys: &[Output],
    xs: &[Output],
    options: &Options<'_>,
) -> Result<Vec<Grad>> {
    let stop: HashSet<Output> = options.stop.iter().copied().collect();
    let mut flowing: HashMap<Output, Vec<Grad>> = HashMap::new();
    for (i, y) in ys.iter().enumerate() {
        let seed = match options.grad_ys.get(i) {
            Some(g) => *g,
            None => ones_like(graph, *y)?,
        };
        flowing.entry(*y).or_default().push(Grad::Dense(seed));
    }
    let (order, between) = backward_order(graph, ys, xs, &stop);
    let wanted: HashSet<Output> = xs.iter().copied().collect();
    let mut found: HashMap<Output, Grad> = HashMap::new();
    for id in order {
        let outputs = graph.node(id).outputs.len() as u32;
        let mut dy: Vec<Option<Output>> = Vec::with_capacity(outputs as usize);
        for o in (0..outputs).map(|i| id.output(i)) {
            let total = sum_grads(graph, flowing.remove(&o).unwrap_or_default())?;
            if wanted.contains(&o) {
                found.insert(o, total.clone());
            }
            dy.push(if stop.contains(&o) { None } else { to_dense(graph, total)? });
        }
        if dy.iter().all(Option::is_none) || graph.node(id).inputs.is_empty() {
            continue;
        }
        // Nothing behind this node is asked for, or could carry a gradient.
        let wants = |i: &Output| between.get(i.node.at()).is_some_and(|b| *b) && carries(graph, *i);
        if !graph.node(id).inputs.iter().any(wants) {
            continue;
        }
        for (input, g) in backward_of(graph, id, &dy)? {
            flowing.entry(input).or_default().push(g);
        }
    }
    xs.iter().map(|x| Ok(found.get(x).cloned().unwrap_or(Grad::None))).collect()
}

/// Only floating point carries gradients.
fn carries(graph: &Graph, o: Output) -> bool {
    let t = graph.dtype(o);
    t.is_float() || t.is_complex() || t == DataType::Resource || t == DataType::Variant
}

fn ones_like(graph: &mut Graph, y: Output) -> Result<Output> {
    if !carries(graph, y) {
        return Err(invalid!(
            "'{}' is {}: gradients are of floating-point tensors",
            graph.tensor_name(y),
            graph.dtype(y)
        ));
    }
    first(graph.add("OnesLike", vec![y.into()], Default::default())?)
}

fn first(outputs: Vec<Output>) -> Result<Output> {
    outputs.first().copied().ok_or_else(|| internal("node without outputs"))
}

/// Nodes between `xs` and `ys`, each after all nodes that use it; and for every node whether it depends on some `x`.
fn backward_order(
    graph: &Graph,
    ys: &[Output],
    xs: &[Output],
    stop: &HashSet<Output>,
) -> (Vec<NodeId>, Vec<bool>) {
    let mut forward = vec![false; graph.len()];
    for x in xs {
        forward[x.node.at()] = true;
    }
    // Which nodes lie behind some x: nodes are numbered in the order they were made, so one sweep forward is enough,
    // loops' back edges aside.
    for id in graph.ids() {
        if graph.node(id).inputs.iter().any(|i| forward[i.node.at()] && !stop.contains(i)) {
            forward[id.at()] = true;
        }
    }
    let mut uses = vec![0u32; graph.len()];
    let mut reached = vec![false; graph.len()];
    let mut stack: Vec<NodeId> = ys.iter().map(|y| y.node).filter(|n| forward[n.at()]).collect();
    while let Some(id) = stack.pop() {
        if std::mem::replace(&mut reached[id.at()], true) {
            continue;
        }
        for input in &graph.node(id).inputs {
            if forward[input.node.at()] {
                uses[input.node.at()] += 1;
                stack.push(input.node);
            }
        }
    }
    let mut order = Vec::new();
    let mut ready: Vec<NodeId> = graph.ids().filter(|id| reached[id.at()] && uses[id.at()] == 0).collect();
    while let Some(id) = ready.pop() {
        order.push(id);
        for input in &graph.node(id).inputs {
            let at = input.node.at();
            if forward[at] {
                uses[at] -= 1;
                if uses[at] == 0 {
                    ready.push(input.node);
                }
            }
        }
    }
    (order, forward)
}

/// What flows into each input of a node.
fn backward_of(graph: &mut Graph, id: NodeId, dy: &[Option<Output>]) -> Result<Vec<(Output, Grad)>> {
    let node = graph.node(id).clone();
    let rule = match node.op.grad {
        Gradient::Stops => return Ok(Vec::new()),
        Gradient::Rule(rule) => rule,
        Gradient::Missing => {
            let what = if node.op.class.is_control_flow() { "control flow" } else { node.op.name };
            return Err(node.blame(unimplemented(format!(
                "No gradient defined for {what} on the path to '{}'",
                node.name
            ))));
        }
    };
    let y: Vec<Output> = (0..node.outputs.len() as u32).map(|i| id.output(i)).collect();
    let mut call = GradCall { graph, op: node.op.name, attrs: &node.attrs, x: &node.inputs, y: &y, dy };
    let grads = rule(&mut call).map_err(|e| node.blame(e.context("gradient")))?;
    if grads.len() != node.inputs.len() {
        return Err(node.blame(internal(format!(
            "gradient rule gave {} gradients for {} inputs",
            grads.len(),
            node.inputs.len()
        ))));
    }
    let mut flows = Vec::new();
    for (input, g) in node.inputs.iter().zip(grads) {
        // The gradient of a handle is that of what it holds.
        let is_tensor = graph.dtype(*input) != DataType::Resource;
        if let (Grad::Dense(d), true) = (&g, is_tensor) {
            let (want, have) = (graph.shape(*input), graph.shape(*d));
            want.merge(&have)
                .map_err(|e| node.blame(e.context("gradient of another shape than its input")))?;
        }
        if g != Grad::None {
            flows.push((*input, g));
        }
    }
    Ok(flows)
}
