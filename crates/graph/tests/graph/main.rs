//! The parts of a graph, each on its own: names, order, frames, GraphDefs, functions, shape inference, gradients.

mod defs;
mod frames;
mod functions;
mod gradients;
mod names;
mod shapes;

use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::dtype::DataType;
use thalweg_core::node::Output;
use thalweg_core::shape::PartialShape;
use thalweg_core::tensor::Tensor;
use thalweg_graph::{Arg, Graph, NodeRequest};
use thalweg_proto::GraphDef;

fn graph() -> Graph {
    Graph::new(Arc::new(thalweg_ops::registry()))
}

fn read(def: &GraphDef) -> thalweg_core::error::Result<Graph> {
    Graph::from_def(Arc::new(thalweg_ops::registry()), def)
}

fn parsed(text: &str) -> GraphDef {
    thalweg_proto::text::parse_graph_def(text).unwrap()
}

fn add(g: &mut Graph, op: &str, args: Vec<Arg>, attrs: &[(&'static str, Attr)]) -> Output {
    let attrs: Attrs = attrs.iter().cloned().collect();
    g.add_node(NodeRequest { op, args, attrs, ..Default::default() }).unwrap().output(0)
}

fn constant(g: &mut Graph, t: Tensor) -> Output {
    add(g, "Const", vec![], &[("dtype", t.dtype().into()), ("value", Attr::Tensor(t))])
}

fn partial(dims: &[i64]) -> PartialShape {
    PartialShape::new(dims).unwrap()
}

fn placeholder(g: &mut Graph, dtype: DataType, shape: PartialShape) -> Output {
    add(g, "Placeholder", vec![], &[("dtype", dtype.into()), ("shape", Attr::Shape(shape))])
}
