//! Shape inference: asking a node's shape rule, with what the graph knows of its inputs.

use crate::frames::FrameNode;
use crate::graph::Graph;
use crate::node::Node;
use smallvec::SmallVec;
use thalweg_core::attr::Attr;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, internal};
use thalweg_core::node::Output;
use thalweg_core::op::{Class, Role};
use thalweg_core::shape::PartialShape;
use thalweg_core::shape_call::{ShapeCall, ShapeSource};
use thalweg_core::tensor::Tensor;

/// Shapes of a node's outputs, given the shapes of the nodes it takes its inputs from.
pub fn shapes(graph: &Graph, node: &Node) -> Result<SmallVec<[PartialShape; 1]>> {
    let inputs: SmallVec<[PartialShape; 4]> = node.inputs.iter().map(|o| graph.shape(*o)).collect();
    let args = graph.signature(node.op)?.input_ranges(&node.attrs)?;
    let call = ShapeCall {
        inputs: &inputs,
        attrs: &node.attrs,
        args: &args,
        outputs: node.outputs.len(),
        source: &Source { graph, node },
    };
    let shapes = (node.op.shape)(&call)?;
    if shapes.len() != node.outputs.len() {
        return Err(internal(format_args!(
            "shape rule gave {} shapes for {} outputs",
            shapes.len(),
            node.outputs.len()
        )));
    }
    Ok(shapes.into())
}

struct Source<'a> {
    graph: &'a Graph,
    node: &'a Node,
}

impl Source<'_> {
    fn input(&self, i: usize) -> Option<Output> {
        self.node.inputs.get(i).copied()
    }
}

impl ShapeSource for Source<'_> {
    fn constant(&self, i: usize) -> Option<Tensor> {
        self.graph.constant(self.input(i)?)
    }

    fn as_shape(&self, i: usize) -> Option<PartialShape> {
        value_as_shape(self.graph, self.input(i)?, 0, &mut NODES.clone())
    }

    fn handle(&self, i: usize) -> Option<(DataType, PartialShape)> {
        handle_contents(self.graph.nodes(), self.input(i)?)
    }
}

/// How far values are followed back. Programs nest these few deep; deeper ones just stay unknown.
const DEPTH: usize = 12;
/// How many nodes are looked at, for what is used twice is looked at twice: more than any shape has sizes.
const NODES: usize = 512;

/// A vector of sizes, as far as known, from the ops that make such. `budget`: nodes still to be looked at.
fn value_as_shape(graph: &Graph, o: Output, depth: usize, budget: &mut usize) -> Option<PartialShape> {
    if depth > DEPTH {
        return None;
    }
    *budget = budget.checked_sub(1)?;
    let few = |t: &Tensor| t.elements() <= NODES;
    if let Some(ints) = graph.constant(o).filter(few).and_then(|t| t.to_i64s().ok()) {
        return PartialShape::new(&ints).ok();
    }
    let node = graph.node(o.node);
    match node.op.role {
        Role::ShapeOf => Some(graph.shape(*node.inputs.first()?)).filter(|s| s.rank().is_some()),
        Role::Identity | Role::Cast => value_as_shape(graph, *node.inputs.first()?, depth + 1, budget),
        Role::Pack if node.inputs.len() <= NODES => {
            let size = |i: &Output| scalar_size(graph, *i, budget).unwrap_or(-1);
            Some(node.inputs.iter().map(size).collect())
        }
        Role::Concat => {
            let (_, parts) = node.inputs.split_last()?;
            let mut all = PartialShape::scalar();
            for part in parts {
                all = all.concat(&value_as_shape(graph, *part, depth + 1, budget)?);
            }
            Some(all)
        }
        _ => None,
    }
}

/// A scalar that is a size: a constant, or one element sliced out of a shape.
fn scalar_size(graph: &Graph, o: Output, budget: &mut usize) -> Option<i64> {
    if let Some(t) = graph.constant(o) {
        return t.to_i64s().ok()?.first().copied().filter(|d| *d >= -1);
    }
    let node = graph.node(o.node);
    if node.op.role != Role::Slice {
        return None;
    }
    let whole = value_as_shape(graph, *node.inputs.first()?, DEPTH, budget)?;
    let begin = graph.constant(*node.inputs.get(1)?)?.to_i64s().ok()?;
    let shrinks = matches!(node.attrs.get("shrink_axis_mask"), Some(Attr::Int(1)));
    match begin.as_slice() {
        [i] if shrinks && *i >= 0 => Some(whole.dim(*i as usize)),
        _ => None,
    }
}

/// Type and shape of what a resource handle stands for, followed back to the node that made it.
pub fn handle_contents<N: FrameNode>(nodes: &[N], mut o: Output) -> Option<(DataType, PartialShape)> {
    for _ in 0..64 {
        let node = nodes.get(o.node.at())?;
        if node.role() == Role::VariableHandle {
            return Some((node.attrs().dtype("dtype").ok()?, node.attrs().shape("shape").ok()?.clone()));
        }
        let passes = matches!(
            node.class(),
            Class::Switch | Class::Enter | Class::Exit | Class::NextIteration | Class::Merge
        );
        if !passes && node.role() != Role::Identity {
            return None;
        }
        o = *node.inputs().first()?;
    }
    None
}
