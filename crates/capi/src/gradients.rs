//! `TF_AddGradients`.

use crate::graph::{Graph, Port};
use crate::pointers::{Array, Handle, Out, Text, need};
use crate::status::{Status, answer};
use std::ffi::c_int;
use thalweg_core::error::Result;
use thalweg_core::invalid;
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
        let options = Options { grad_ys: &seeds, scope: prefix, ..Options::default() };
        let found = gradients::gradients(g, &ys, &xs, &options)?;
        found.into_iter().map(|grad| gradients::to_dense(g, grad)).collect::<Result<Vec<_>>>()
    })?;
    for (i, o) in found.into_iter().enumerate() {
        result.put_at(i, o.map_or(Port::none(Handle::null()), |o| graph.port(o)));
    }
    Ok(())
}

/// `dx` are the initial gradients of the `ys`, ones if it is null. Where the `ys` do not depend on an `x`, its gradient is null.
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
