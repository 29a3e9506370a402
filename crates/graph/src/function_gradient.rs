//! `SymbolicGradient`: the gradient of a function as a function. Its arguments are those of the function and the gradients of its results;
//! its results are the gradients of the arguments.

use crate::function::{Body, Library};
use crate::gradients::{self, Options, carries, to_dense};
use crate::graph::{Graph, NodeRequest};
use std::sync::Arc;
use thalweg_core::attr::{Attrs, Func};
use thalweg_core::error::Result;
use thalweg_core::grad::zeros_for;
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::registry::Registry;

/// The op, and the name by which a library instantiates gradients.
pub const OP: &str = "SymbolicGradient";

/// Most gradients of gradients; each is a level of the call stack.
const MAX_DEPTH: u32 = 16;

/// The function that a node with these attrs calls.
pub fn gradient_of(attrs: &Attrs) -> Result<Func> {
    let mut of = Attrs::new();
    of.set("f", attrs.func("f")?.clone());
    if let Some(types) = attrs.get("Tout") {
        of.set("Tout", types.clone());
    }
    Ok(Func { name: OP.to_string(), attrs: of })
}

/// The body of the gradient of attr `f`: the function given for it, else made from the body of `f`.
pub fn body(library: &Library, registry: &Arc<Registry>, gradient: &Func, depth: u32) -> Result<Body> {
    if depth >= MAX_DEPTH {
        return Err(invalid!("gradients of functions are nested deeper than {MAX_DEPTH}"));
    }
    let f = gradient.attrs.func("f")?;
    if let Some(name) = library.gradient(&f.name) {
        let given = Func { name: name.to_string(), attrs: f.attrs.clone() };
        return library.instantiate_within(registry, &given, depth + 1);
    }
    let mut body = library.instantiate_within(registry, f, depth + 1)?;
    body.graph.gradient_depth = depth + 1;
    differentiate(&mut body, gradient)
        .map_err(|e| e.context(format_args!("in the gradient of '{}'", f.name)))?;
    Ok(body)
}

fn differentiate(body: &mut Body, gradient: &Func) -> Result<()> {
    let xs: Vec<Output> = body.args.iter().map(|a| a.output(0)).collect();
    let (mut ys, mut dys) = (Vec::new(), Vec::new());
    for y in body.results.clone() {
        let dy = argument(&mut body.graph, y, body.args.len())?;
        body.args.push(dy);
        if carries(body.graph.dtype(y)) {
            ys.push(y);
            dys.push(dy.output(0));
        }
    }
    let options = Options { grad_ys: &dys, ..Options::default() };
    let found = gradients::gradients(&mut body.graph, &ys, &xs, &options)?;
    let types = gradient.attrs.types("Tout")?;
    body.results.clear();
    for (i, (grad, x)) in found.into_iter().zip(xs).enumerate() {
        let held = types.get(i).copied().unwrap_or_else(|| body.graph.dtype(x));
        let dx = match to_dense(&mut body.graph, grad)? {
            Some(dx) => dx,
            None => zeros_for(&mut body.graph, x, held)?,
        };
        body.results.push(dx);
    }
    Ok(())
}

/// A new argument for the gradient of result `y`.
fn argument(graph: &mut Graph, y: Output, index: usize) -> Result<NodeId> {
    let mut attrs = Attrs::new();
    attrs.set("T", graph.dtype(y));
    attrs.set("index", index as i64);
    graph.add_node(NodeRequest { op: "_Arg", name: "_arg_gradient", attrs, ..Default::default() })
}
