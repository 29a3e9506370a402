//! `Case` as Switches and Merges: one branch after the other is asked whether it is meant, and the last one runs if none is.

use super::Ground;
use super::insert::{Inserted, insert_body};
use super::lower::{identity, merge, switch};
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::tensor::Tensor;

/// A branch that has been laid out, with the value that is alive where it is taken.
struct Side {
    body: Inserted,
    alive: Output,
}

pub fn lower_case(ground: &mut impl Ground, id: NodeId) -> Result<()> {
    let node = ground.call(id);
    let branches = node.attrs.funcs("branches")?;
    let (Some((index, inputs)), Some((last, others))) = (node.inputs.split_first(), branches.split_last())
    else {
        return Err(invalid!("a Case without an index, or without branches"));
    };
    ground.set_control_flow();
    // Holds back the branches until the Case itself could have run.
    let mut index = identity(ground, id, "index", *index, &node.control)?.output(0);
    let (mut start, mut values) = (index.node, inputs.to_vec());
    let mut sides = Vec::with_capacity(branches.len());
    for (k, f) in others.iter().enumerate() {
        let pred = is_meant(ground, id, index, k, start)?;
        let pivot = switch(ground, id, &format!("pivot_{k}"), pred, pred)?;
        index = switch(ground, id, &format!("index_{k}"), index, pred)?.output(0);
        let mut args = Vec::with_capacity(values.len());
        for (i, value) in values.iter_mut().enumerate() {
            let sides = switch(ground, id, &format!("switch_{k}_{i}"), *value, pred)?;
            args.push(sides.output(1));
            *value = sides.output(0);
        }
        let taken = identity(ground, id, &format!("branch_{k}_start"), pivot.output(1), &[])?;
        let body = ground.instantiate(f)?;
        let body = insert_body(ground, id, &body, &args, Some(taken), &format!("/branch_{k}"))?;
        sides.push(Side { body: of_branch(ground, id, k, body, taken)?, alive: taken.output(0) });
        start = identity(ground, id, &format!("not_{k}"), pivot.output(0), &[])?;
    }
    let (k, body) = (others.len(), ground.instantiate(last)?);
    let body = insert_body(ground, id, &body, &values, Some(start), &format!("/branch_{k}"))?;
    let last = Side { body: of_branch(ground, id, k, body, start)?, alive: start.output(0) };
    join(ground, id, last, sides)
}

/// Whether branch `k` is the one: a node that runs where `after` does.
fn is_meant(ground: &mut impl Ground, id: NodeId, index: Output, k: usize, after: NodeId) -> Result<Output> {
    let value =
        Tensor::scalar(i32::try_from(k).map_err(|_| invalid!("more branches than an index can name"))?);
    let attrs = [("dtype", Attr::Type(DataType::Int32)), ("value", Attr::Tensor(value))];
    let number =
        ground.add(id, &format!("number_{k}"), "Const", &[], &[after], attrs.into_iter().collect())?;
    let attrs: Attrs = [("T", DataType::Int32)].into_iter().collect();
    Ok(ground.add(id, &format!("is_{k}"), "Equal", &[index, number.output(0)], &[], attrs)?.output(0))
}

/// Results that are constants of the outer graph are made part of the branch.
fn of_branch(
    ground: &mut impl Ground,
    id: NodeId,
    k: usize,
    mut body: Inserted,
    start: NodeId,
) -> Result<Inserted> {
    for (i, o) in body.results.iter_mut().enumerate() {
        *o = identity(ground, id, &format!("branch_{k}_result_{i}"), *o, &[start])?.output(0);
    }
    Ok(body)
}

/// Runs when a branch has had its effects.
fn end_of(ground: &mut impl Ground, id: NodeId, k: usize, side: &Side) -> Result<Output> {
    Ok(identity(ground, id, &format!("branch_{k}_end"), side.alive, &side.body.effects)?.output(0))
}

fn join(ground: &mut impl Ground, id: NodeId, last: Side, mut sides: Vec<Side>) -> Result<()> {
    let wants_end = ground.wants_end(id);
    let mut end = if wants_end { Some(end_of(ground, id, sides.len(), &last)?) } else { None };
    let mut results = last.body.results;
    while let Some(side) = sides.pop() {
        let k = sides.len();
        for (i, (result, taken)) in results.iter_mut().zip(&side.body.results).enumerate() {
            *result = merge(ground, id, &format!("merge_{k}_{i}"), &[*result, *taken])?.output(0);
        }
        if let Some(other) = end {
            let taken = end_of(ground, id, k, &side)?;
            end = Some(merge(ground, id, &format!("end_{k}"), &[other, taken])?.output(0));
        }
    }
    ground.replace(id, &results, end.map(|o| o.node))
}
