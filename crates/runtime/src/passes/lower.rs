//! `If` and `While` as Switch, Merge, Enter, Exit and NextIteration: their bodies then run as part of the same step.

use super::inline::{insert_body, replace_node};
use crate::work::Work;
use thalweg_core::attr::Attrs;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::grad::{NodeId, Output};
use thalweg_core::invalid;

fn typed(dtype: DataType) -> Attrs {
    [("T", dtype)].into_iter().collect()
}

fn dtype_of(work: &Work, o: Output) -> DataType {
    work.node(o.node).outputs[o.index as usize].dtype
}

fn switch(work: &mut Work, id: NodeId, name: &str, value: Output, pred: Output) -> Result<NodeId> {
    let attrs = typed(dtype_of(work, value));
    work.add(id, name, "Switch", &[value, pred], &[], attrs)
}

fn identity(work: &mut Work, id: NodeId, name: &str, value: Output, control: &[NodeId]) -> Result<NodeId> {
    let attrs = typed(dtype_of(work, value));
    work.add(id, name, "Identity", &[value], control, attrs)
}

fn merge(work: &mut Work, id: NodeId, name: &str, inputs: &[Output]) -> Result<NodeId> {
    let dtype = dtype_of(work, inputs[0]);
    if let Some(other) = inputs.iter().map(|o| dtype_of(work, *o)).find(|t| *t != dtype) {
        return Err(invalid!("a result is {dtype} in one branch and {other} in the other"));
    }
    let mut attrs = typed(dtype);
    attrs.set("N", inputs.len() as i64);
    work.add(id, name, "Merge", inputs, &[], attrs)
}

/// Both branches are laid out behind a Switch on each input; a Merge takes the result of the one that ran.
pub fn lower_if(work: &mut Work, id: NodeId) -> Result<()> {
    let node = work.node(id).clone();
    let Some((pred, inputs)) = node.inputs.split_first() else {
        return Err(invalid!("an If without a condition"));
    };
    if dtype_of(work, *pred) != DataType::Bool {
        // Other kinds of truth are rare: the kernel calls the branch.
        return Ok(());
    }
    work.has_control_flow = true;
    // Holds back the branches until the If itself could have run.
    let pred = identity(work, id, "pred", *pred, &node.control)?.output(0);
    let pivot = switch(work, id, "pivot", pred, pred)?;
    let mut sides = Vec::new();
    let switched: Vec<NodeId> = inputs
        .iter()
        .enumerate()
        .map(|(i, o)| switch(work, id, &format!("switch_{i}"), *o, pred))
        .collect::<Result<_>>()?;
    for (side, attr, name) in [(1u32, "then_branch", "then"), (0, "else_branch", "else")] {
        let start = identity(work, id, &format!("{name}_start"), pivot.output(side), &[])?;
        let args: Vec<Output> = switched.iter().map(|s| s.output(side)).collect();
        let f = node.attrs.func(attr)?.clone();
        let body = insert_body(work, id, &f, &args, Some(start), &format!("/{name}"))?;
        // Ends when the branch has had its effects.
        let end = identity(work, id, &format!("{name}_end"), pivot.output(side), &body.effects)?;
        // A result that is a constant of the outer graph is made part of the branch.
        let results: Vec<Output> = body
            .results
            .iter()
            .enumerate()
            .map(|(i, o)| Ok(identity(work, id, &format!("{name}_result_{i}"), *o, &[start])?.output(0)))
            .collect::<Result<_>>()?;
        sides.push((results, end));
    }
    let (else_side, then_side) = (sides.remove(1), sides.remove(0));
    let mut results = Vec::new();
    for (i, (e, t)) in else_side.0.iter().zip(&then_side.0).enumerate() {
        results.push(merge(work, id, &format!("merge_{i}"), &[*e, *t])?.output(0));
    }
    let end = merge(work, id, "end", &[else_side.1.output(0), then_side.1.output(0)])?;
    replace_node(work, id, &results, end)
}

/// The loop's values go around a frame: Enter, Merge, the condition, Switch, the body, NextIteration; Exit when it is over.
pub fn lower_while(work: &mut Work, id: NodeId) -> Result<()> {
    let node = work.node(id).clone();
    if node.inputs.is_empty() {
        // Nothing to carry from one iteration to the next: the kernel calls the functions.
        return Ok(());
    }
    work.has_control_flow = true;
    let parallel = node.attrs.int("parallel_iterations")?;
    let mut merges = Vec::new();
    for (i, input) in node.inputs.iter().enumerate() {
        let dtype = dtype_of(work, *input);
        let mut attrs = typed(dtype);
        attrs.set("frame_name", &*format!("{}/frame", node.name));
        attrs.set("parallel_iterations", parallel);
        let enter = work.add(id, &format!("enter_{i}"), "Enter", &[*input], &node.control, attrs)?.output(0);
        // The second input is the back edge, set below.
        merges.push(merge(work, id, &format!("merge_{i}"), &[enter, enter])?);
    }
    let looped: Vec<Output> = merges.iter().map(|m| m.output(0)).collect();
    let start = identity(work, id, "cond_start", looped[0], &[])?;
    let cond = insert_body(work, id, &node.attrs.func("cond")?.clone(), &looped, Some(start), "/cond")?;
    let Some(pred) = cond.results.first().copied() else {
        return Err(invalid!("the condition gives no result"));
    };
    if dtype_of(work, pred) != DataType::Bool {
        return Err(invalid!("the condition of a loop must be bool, got {}", dtype_of(work, pred)));
    }
    let pred = identity(work, id, "cond_result", pred, &[start])?.output(0);
    let cond = work.add(id, "loop_cond", "LoopCond", &[pred], &cond.effects, Attrs::new())?.output(0);
    let switches: Vec<NodeId> = looped
        .iter()
        .enumerate()
        .map(|(i, o)| switch(work, id, &format!("switch_{i}"), *o, cond))
        .collect::<Result<_>>()?;
    let start = identity(work, id, "body_start", switches[0].output(1), &[])?;
    let args: Vec<Output> = switches.iter().map(|s| s.output(1)).collect();
    let body = insert_body(work, id, &node.attrs.func("body")?.clone(), &args, Some(start), "/body")?;
    if body.results.len() != merges.len() {
        return Err(invalid!(
            "the body gives {} results for {} loop variables",
            body.results.len(),
            merges.len()
        ));
    }
    for (i, (result, m)) in body.results.iter().zip(&merges).enumerate() {
        let dtype = dtype_of(work, *result);
        if dtype != dtype_of(work, m.output(0)) {
            return Err(invalid!(
                "loop variable {i} is {}, but the body makes it {dtype}",
                dtype_of(work, m.output(0))
            ));
        }
        let waits: Vec<NodeId> = body.effects.iter().copied().chain([start]).collect();
        let next = work.add(id, &format!("next_{i}"), "NextIteration", &[*result], &waits, typed(dtype))?;
        work.nodes[m.at()].inputs[1] = next.output(0);
    }
    let mut exits = Vec::new();
    for (i, s) in switches.iter().enumerate() {
        let dtype = dtype_of(work, s.output(0));
        exits.push(work.add(id, &format!("exit_{i}"), "Exit", &[s.output(0)], &[], typed(dtype))?.output(0));
    }
    let all: Vec<NodeId> = exits.iter().map(|o| o.node).collect();
    let end = work.add(id, "end", "NoOp", &[], &all, Attrs::new())?;
    replace_node(work, id, &exits, end)
}
