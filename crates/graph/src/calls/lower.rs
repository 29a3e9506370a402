//! Lowers `If` and `While` to Switch, Merge, Enter, Exit and NextIteration: their bodies run in the same step.

use super::insert::insert_body;
use super::{CallNode, InlineGraph};
use crate::function::Body;
use thalweg_core::attr::Attrs;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};

fn typed(dtype: DataType) -> Attrs {
    [("T", dtype)].into_iter().collect()
}

pub fn switch(
    graph: &mut impl InlineGraph,
    id: NodeId,
    name: &str,
    value: Output,
    pred: Output,
) -> Result<NodeId> {
    let attrs = typed(graph.dtype(value));
    graph.add(id, name, "Switch", &[value, pred], &[], attrs)
}

pub fn identity(
    graph: &mut impl InlineGraph,
    id: NodeId,
    name: &str,
    value: Output,
    control: &[NodeId],
) -> Result<NodeId> {
    let attrs = typed(graph.dtype(value));
    graph.add(id, name, "Identity", &[value], control, attrs)
}

pub fn merge(graph: &mut impl InlineGraph, id: NodeId, name: &str, inputs: &[Output]) -> Result<NodeId> {
    let dtype = graph.dtype(inputs[0]);
    if let Some(other) = inputs.iter().map(|o| graph.dtype(*o)).find(|t| *t != dtype) {
        return Err(invalid!("a result is {dtype} in one branch and {other} in the other"));
    }
    let mut attrs = typed(dtype);
    attrs.set("N", inputs.len() as i64);
    graph.add(id, name, "Merge", inputs, &[], attrs)
}

/// Both branches are inlined behind a Switch on each input; a Merge takes the result of the one that ran.
pub fn lower_if(graph: &mut impl InlineGraph, id: NodeId) -> Result<()> {
    let node = graph.call(id);
    let Some((pred, inputs)) = node.inputs.split_first() else {
        return Err(invalid!("an If without a condition"));
    };
    if graph.dtype(*pred) != DataType::Bool {
        // Predicates of other types are rare: the kernel calls the branch.
        return Ok(());
    }
    graph.set_control_flow();
    // The branches get the control inputs of the If.
    let pred = identity(graph, id, "pred", *pred, &node.control)?.output(0);
    let pivot = switch(graph, id, "pivot", pred, pred)?;
    let mut sides = Vec::new();
    let switched: Vec<NodeId> = inputs
        .iter()
        .enumerate()
        .map(|(i, o)| switch(graph, id, &format!("switch_{i}"), *o, pred))
        .collect::<Result<_>>()?;
    for (side, attr, name) in [(1u32, "then_branch", "then"), (0, "else_branch", "else")] {
        let start = identity(graph, id, &format!("{name}_start"), pivot.output(side), &[])?;
        let args: Vec<Output> = switched.iter().map(|s| s.output(side)).collect();
        let body = graph.instantiate(node.attrs.func(attr)?)?;
        let body = insert_body(graph, id, &body, &args, Some(start), &format!("/{name}"))?;
        // A constant result of the outer graph is made part of the branch.
        let results: Vec<Output> = body
            .results
            .iter()
            .enumerate()
            .map(|(i, o)| Ok(identity(graph, id, &format!("{name}_result_{i}"), *o, &[start])?.output(0)))
            .collect::<Result<_>>()?;
        sides.push((results, body.effects));
    }
    let (else_side, then_side) = (sides.remove(1), sides.remove(0));
    let mut results = Vec::new();
    for (i, (e, t)) in else_side.0.iter().zip(&then_side.0).enumerate() {
        results.push(merge(graph, id, &format!("merge_{i}"), &[*e, *t])?.output(0));
    }
    let end = if graph.wants_end(id) {
        // Runs after the branch's side effects.
        let not_taken = identity(graph, id, "else_end", pivot.output(0), &else_side.1)?;
        let taken = identity(graph, id, "then_end", pivot.output(1), &then_side.1)?;
        Some(merge(graph, id, "end", &[not_taken.output(0), taken.output(0)])?)
    } else {
        None
    };
    graph.replace(id, &results, end)
}

/// Loop variables go through Enter, Merge, the condition, Switch, the body and NextIteration; Exit when the condition is false. Loop-invariant
/// ones only enter.
pub fn lower_while(graph: &mut impl InlineGraph, id: NodeId) -> Result<()> {
    let node = graph.call(id);
    if node.inputs.is_empty() {
        // No loop variables: the kernel calls the functions.
        return Ok(());
    }
    graph.set_control_flow();
    let body = graph.instantiate(node.attrs.func("body")?)?;
    if body.results.len() != node.inputs.len() {
        return Err(invalid!(
            "the body gives {} results for {} loop variables",
            body.results.len(),
            node.inputs.len()
        ));
    }
    let invariants = loop_invariants(&body);
    let mut control = node.control.to_vec();
    if control.len().saturating_mul(node.inputs.len()) > MANY_EDGES {
        control = vec![graph.add(id, "start", "NoOp", &[], &control, Attrs::new())?];
    }
    let mut entered = Vec::with_capacity(node.inputs.len());
    for (i, (input, invariant)) in node.inputs.iter().zip(&invariants).enumerate() {
        let mut attrs = typed(graph.dtype(*input));
        attrs.set("frame_name", &*format!("{}/frame", node.name));
        attrs.set("parallel_iterations", node.attrs.int("parallel_iterations")?);
        attrs.set("is_constant", *invariant);
        let enter = graph.add(id, &format!("enter_{i}"), "Enter", &[*input], &control, attrs)?.output(0);
        entered.push(match invariant {
            true => enter,
            // The second input is the back edge, set below.
            false => merge(graph, id, &format!("merge_{i}"), &[enter, enter])?.output(0),
        });
    }
    let first = invariants.iter().position(|invariant| !invariant).unwrap_or(0);
    let cond = loop_cond(graph, id, &node, &entered, entered[first])?;
    let mut switches = Vec::with_capacity(entered.len());
    for (i, (o, invariant)) in entered.iter().zip(&invariants).enumerate() {
        switches.push(if *invariant {
            None
        } else {
            Some(switch(graph, id, &format!("switch_{i}"), *o, cond)?)
        });
    }
    let args: Vec<Output> =
        switches.iter().zip(&entered).map(|(s, o)| s.map_or(*o, |s| s.output(1))).collect();
    let start = identity(graph, id, "body_start", args[first], &[])?;
    let body = insert_body(graph, id, &body, &args, Some(start), "/body")?;
    let mut waits: Vec<NodeId> = body.effects.iter().copied().chain([start]).collect();
    if waits.len().saturating_mul(switches.len()) > MANY_EDGES {
        // A single node joins all control edges.
        waits = vec![graph.add(id, "body_end", "NoOp", &[], &waits, Attrs::new())?];
    }
    let mut results = Vec::with_capacity(entered.len());
    for (i, s) in switches.iter().enumerate() {
        let Some(s) = s else {
            results.push(node.inputs[i]);
            continue;
        };
        let (value, dtype) = (graph.dtype(entered[i]), graph.dtype(body.results[i]));
        if dtype != value {
            return Err(invalid!("loop variable {i} is {value}, but the body makes it {dtype}"));
        }
        let next =
            graph.add(id, &format!("next_{i}"), "NextIteration", &[body.results[i]], &waits, typed(dtype))?;
        graph.set_input(entered[i].node, 1, next.output(0))?;
        let exit = graph.add(id, &format!("exit_{i}"), "Exit", &[s.output(0)], &[], typed(dtype))?;
        results.push(exit.output(0));
    }
    let end = if graph.wants_end(id) {
        let all: Vec<NodeId> = results.iter().map(|o| o.node).collect();
        Some(graph.add(id, "end", "NoOp", &[], &all, Attrs::new())?)
    } else {
        None
    };
    graph.replace(id, &results, end)
}

/// More control edges than this, all to all, are joined by one node.
const MANY_EDGES: usize = 1 << 12;

/// Which arguments are loop-invariant: the body returns them unchanged. At least one is not, as a pivot of condition and body.
fn loop_invariants(body: &Body) -> Vec<bool> {
    let same = |(result, arg): (&Output, &NodeId)| *result == arg.output(0);
    let mut invariant: Vec<bool> = body.results.iter().zip(&body.args).map(same).collect();
    invariant.resize(body.results.len(), false);
    if invariant.iter().all(|s| *s)
        && let Some(first) = invariant.first_mut()
    {
        *first = false;
    }
    invariant
}

fn loop_cond(
    graph: &mut impl InlineGraph,
    id: NodeId,
    node: &CallNode,
    values: &[Output],
    pivot: Output,
) -> Result<Output> {
    let start = identity(graph, id, "cond_start", pivot, &[])?;
    let cond = graph.instantiate(node.attrs.func("cond")?)?;
    let cond = insert_body(graph, id, &cond, values, Some(start), "/cond")?;
    let Some(pred) = cond.results.first().copied() else {
        return Err(invalid!("the condition gives no result"));
    };
    if graph.dtype(pred) != DataType::Bool {
        return Err(invalid!("the condition of a loop must be bool, got {}", graph.dtype(pred)));
    }
    let pred = identity(graph, id, "cond_result", pred, &[start])?.output(0);
    Ok(graph.add(id, "loop_cond", "LoopCond", &[pred], &cond.effects, Attrs::new())?.output(0))
}
