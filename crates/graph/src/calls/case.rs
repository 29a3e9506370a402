//! `Case` as Switches and Merges: the index is compared with each branch's number in turn; the last branch is the default.

use super::InlineGraph;
use super::insert::{Inserted, insert_body};
use super::lower::{identity, merge, switch};
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::tensor::Tensor;

/// An inlined branch, with a value that is live if it is taken.
struct Side {
    body: Inserted,
    alive: Output,
}

pub fn lower_case(graph: &mut impl InlineGraph, id: NodeId) -> Result<()> {
    let node = graph.call(id);
    let branches = node.attrs.funcs("branches")?;
    let (Some((index, inputs)), Some((last, others))) = (node.inputs.split_first(), branches.split_last())
    else {
        return Err(invalid!("a Case without an index, or without branches"));
    };
    graph.set_control_flow();
    // The branches get the control inputs of the Case.
    let mut index = identity(graph, id, "index", *index, &node.control)?.output(0);
    let (mut start, mut values) = (index.node, inputs.to_vec());
    let mut sides = Vec::with_capacity(branches.len());
    for (k, f) in others.iter().enumerate() {
        let pred = is_branch(graph, id, index, k, start)?;
        let pivot = switch(graph, id, &format!("pivot_{k}"), pred, pred)?;
        index = switch(graph, id, &format!("index_{k}"), index, pred)?.output(0);
        let mut args = Vec::with_capacity(values.len());
        for (i, value) in values.iter_mut().enumerate() {
            let sides = switch(graph, id, &format!("switch_{k}_{i}"), *value, pred)?;
            args.push(sides.output(1));
            *value = sides.output(0);
        }
        let taken = identity(graph, id, &format!("branch_{k}_start"), pivot.output(1), &[])?;
        let body = graph.instantiate(f)?;
        let body = insert_body(graph, id, &body, &args, Some(taken), &format!("/branch_{k}"))?;
        sides.push(Side { body: of_branch(graph, id, k, body, taken)?, alive: taken.output(0) });
        start = identity(graph, id, &format!("not_{k}"), pivot.output(0), &[])?;
    }
    let (k, body) = (others.len(), graph.instantiate(last)?);
    let body = insert_body(graph, id, &body, &values, Some(start), &format!("/branch_{k}"))?;
    let last = Side { body: of_branch(graph, id, k, body, start)?, alive: start.output(0) };
    join(graph, id, last, sides)
}

/// Whether the index is `k`: a node with `after`'s liveness.
fn is_branch(
    graph: &mut impl InlineGraph,
    id: NodeId,
    index: Output,
    k: usize,
    after: NodeId,
) -> Result<Output> {
    let value =
        Tensor::scalar(i32::try_from(k).map_err(|_| invalid!("more branches than an index can name"))?);
    let attrs = [("dtype", Attr::Type(DataType::Int32)), ("value", Attr::Tensor(value))];
    let number =
        graph.add(id, &format!("number_{k}"), "Const", &[], &[after], attrs.into_iter().collect())?;
    let attrs: Attrs = [("T", DataType::Int32)].into_iter().collect();
    Ok(graph.add(id, &format!("is_{k}"), "Equal", &[index, number.output(0)], &[], attrs)?.output(0))
}

/// Makes results that are constants of the outer graph part of the branch.
fn of_branch(
    graph: &mut impl InlineGraph,
    id: NodeId,
    k: usize,
    mut body: Inserted,
    start: NodeId,
) -> Result<Inserted> {
    for (i, o) in body.results.iter_mut().enumerate() {
        *o = identity(graph, id, &format!("branch_{k}_result_{i}"), *o, &[start])?.output(0);
    }
    Ok(body)
}

/// Runs after the branch's side effects.
fn end_of(graph: &mut impl InlineGraph, id: NodeId, k: usize, side: &Side) -> Result<Output> {
    Ok(identity(graph, id, &format!("branch_{k}_end"), side.alive, &side.body.effects)?.output(0))
}

fn join(graph: &mut impl InlineGraph, id: NodeId, last: Side, mut sides: Vec<Side>) -> Result<()> {
    let wants_end = graph.wants_end(id);
    let mut end = if wants_end { Some(end_of(graph, id, sides.len(), &last)?) } else { None };
    let mut results = last.body.results;
    while let Some(side) = sides.pop() {
        let k = sides.len();
        for (i, (result, taken)) in results.iter_mut().zip(&side.body.results).enumerate() {
            *result = merge(graph, id, &format!("merge_{k}_{i}"), &[*result, *taken])?.output(0);
        }
        if let Some(other) = end {
            let taken = end_of(graph, id, k, &side)?;
            end = Some(merge(graph, id, &format!("end_{k}"), &[other, taken])?.output(0));
        }
    }
    graph.replace(id, &results, end.map(|o| o.node))
}
