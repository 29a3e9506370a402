//! Automatic differentiation: adds to a graph the nodes that compute the gradients of some outputs.
//!
//! Gradients flow from the `ys` back through one node at a time (`region`), each by the gradient rule of its op. A while loop is
//! one step of that walk: its gradient is a loop of as many iterations (`loops`), with the needed values of
//! forward iterations saved on stacks (`history`), through which second gradients go (`stacks`). Function calls are inlined
//! first (`crate::calls`). `backward` is the graph as gradient rules see it: it makes every value available in
//! the loop they build in.

mod accumulate;
mod backward;
mod branches;
mod history;
mod loops;
mod region;
mod stacks;

use crate::graph::Graph;
pub use accumulate::to_dense;
use backward::Backward;
use region::Region;
use std::collections::HashSet;
use thalweg_core::builder::Builder;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, internal};
use thalweg_core::grad::Grad;
use thalweg_core::invalid;
use thalweg_core::node::Output;

#[derive(Default)]
pub struct Options<'a> {
    /// Initial gradients, one for each `y`; ones by default.
    pub grad_ys: &'a [Output],
    /// Outputs at which gradients stop.
    pub stop: &'a [Output],
    /// The device of the gradient nodes; empty: any.
    pub device: &'a str,
    /// The name scope of the gradient nodes; empty: `gradients`, made unique.
    pub scope: &'a str,
}

/// The gradients of the sum of `ys` with respect to each of `xs`; `Grad::None` where `ys` do not depend on it.
pub fn gradients(
    graph: &mut Graph,
    ys: &[Output],
    xs: &[Output],
    options: &Options<'_>,
) -> Result<Vec<Grad>> {
    crate::calls::expand_between(graph, ys, xs)?;
    let mut backward = Backward::new(graph, options)?;
    for o in ys.iter().chain(xs) {
        backward.check_outside(*o)?;
    }
    let mut seeds = Vec::with_capacity(ys.len());
    for (i, y) in ys.iter().enumerate() {
        let seed = match options.grad_ys.get(i) {
            Some(g) => *g,
            None => ones_like(&mut backward, *y)?,
        };
        seeds.push((*y, Grad::Dense(seed)));
    }
    let stop: HashSet<Output> = options.stop.iter().copied().collect();
    let region = Region::find(&mut backward, 0, ys, xs, &stop);
    let found = region.flow_back(&mut backward, seeds, &stop)?;
    Ok(xs.iter().map(|x| found.get(x).cloned().unwrap_or(Grad::None)).collect())
}

/// Only floating point carries gradients.
pub fn carries(t: DataType) -> bool {
    t.is_float() || t.is_complex() || t == DataType::Resource || t == DataType::Variant
}

fn ones_like(backward: &mut Backward<'_>, y: Output) -> Result<Output> {
    if !carries(backward.dtype(y)) {
        return Err(invalid!(
            "'{}' is {}: gradients are of floating-point tensors",
            backward.graph.tensor_name(y),
            backward.dtype(y)
        ));
    }
    first(backward.add("OnesLike", vec![y.into()], Default::default())?)
}

fn first(outputs: Vec<Output>) -> Result<Output> {
    outputs.first().copied().ok_or_else(|| internal("node without outputs"))
}
