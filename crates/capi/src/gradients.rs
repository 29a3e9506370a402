//! `TF_AddGradients`.

use crate::graph::{Graph, Port};
use crate::pointers::{Array, Handle, Out, Text, need};
use crate::status::{Status, answer};
use std::collections::HashSet;
use std::ffi::c_int;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::Output;
use thalweg_core::op::Gradient;
use thalweg_graph::gradients::{self, Options};

fn add(
    graph: Option<&Graph>,
    prefix: &str,
    (ys, xs): (&[Port], &[Port]),
    seeds: &[Port],
    result: &Out<Port>,
) -> Result<()> {
    let graph = &need(graph)?.0;
    let (ys, xs, seeds) = (graph.outputs(ys)?, graph.outputs(xs)?, graph.outputs(seeds)?);
    let found = graph.scope.change(|g| {
        let inside = format!("{prefix}/");
        let taken = |name: &str| name == prefix || name.starts_with(&inside);
        if let Some(node) = g.nodes().iter().find(|n| !prefix.is_empty() && taken(&n.name)) {
            return Err(invalid!(
                "prefix [{prefix}] conflicts with existing node in the graph named [{}]",
                node.name
            ));
        }
        check_reachable(g, &ys, &xs)?;
        // Through integers that are stopped at flows nothing, which is no mistake.
        let flows = |y: &Output| {
            let stops = matches!(g.node(y.node).op.grad, Gradient::Stops) && g.node(y.node).inputs.len() == 1;
            !(stops && g.dtype(*y).is_integer())
        };
        let kept: Vec<bool> = ys.iter().map(flows).collect();
        let only = |all: &[Output]| -> Vec<Output> {
            all.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(o, _)| *o).collect()
        };
        let (ys, seeds) = (only(&ys), only(&seeds));
        if ys.is_empty() {
            return Ok(vec![None; xs.len()]);
        }
        let options = Options { grad_ys: &seeds, scope: prefix, ..Options::default() };
        let found = gradients::gradients(g, &ys, &xs, &options)?;
        found.into_iter().map(|grad| gradients::to_dense(g, grad)).collect::<Result<Vec<_>>>()
    })?;
    for (i, o) in found.into_iter().enumerate() {
        result.put_at(i, o.map_or(Port::none(Handle::null()), |o| graph.port(o)));
    }
    Ok(())
}

/// TensorFlow has no gradient at all, not even none, of what nothing leads to.
fn check_reachable(g: &thalweg_graph::Graph, ys: &[Output], xs: &[Output]) -> Result<()> {
    let (mut seen, mut stack) = (HashSet::new(), ys.to_vec());
    while let Some(o) = stack.pop() {
        if seen.insert(o.node) {
            stack.extend(g.node(o.node).inputs.iter().copied());
        }
    }
    match xs.iter().find(|x| !seen.contains(&x.node)) {
        None => Ok(()),
        Some(x) => Err(invalid!(
            "Cannot compute the partial derivative for node '{}' as it's unreachable from the output node(s).",
            g.node(x.node).name
        )),
    }
}

/// `dx` are the initial gradients of the `ys`, ones if it is null. Where it is stopped between, a gradient is null.
#[unsafe(no_mangle)]
pub extern "C" fn TF_AddGradientsWithPrefix(
    graph: Option<&Graph>,
    prefix: Text,
    ys: Array<Port>,
    num_ys: c_int,
    xs: Array<Port>,
    num_xs: c_int,
    dx: Array<Port>,
    status: Option<&mut Status>,
    dy: Out<Port>,
) {
    answer(status, (), || {
        let seeds = if dx.is_null() { &[] } else { dx.slice(num_ys)? };
        add(graph, prefix.or_empty()?, (ys.slice(num_ys)?, xs.slice(num_xs)?), seeds, dy.need()?)
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_AddGradients(
    graph: Option<&Graph>,
    ys: Array<Port>,
    num_ys: c_int,
    xs: Array<Port>,
    num_xs: c_int,
    dx: Array<Port>,
    status: Option<&mut Status>,
    dy: Out<Port>,
) {
    answer(status, (), || {
        let seeds = if dx.is_null() { &[] } else { dx.slice(num_ys)? };
        add(graph, "", (ys.slice(num_ys)?, xs.slice(num_xs)?), seeds, dy.need()?)
    });
}
