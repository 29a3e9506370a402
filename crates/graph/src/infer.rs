//! Shape inference: runs a node's shape rule, with what the graph knows of its inputs.

use crate::frames::FrameNode;
use crate::graph::Graph;
use crate::node::Node;
use smallvec::SmallVec;
use thalweg_core::attr::Attrs;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, internal};
use thalweg_core::node::Output;
use thalweg_core::op::Class;
use thalweg_core::partial_value::PartialCall;
use thalweg_core::shape::PartialShape;
use thalweg_core::shape_call::{ShapeCall, ShapeSource};
use thalweg_core::tensor::Tensor;

/// Infers the output shapes of a node from those of its inputs.
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
        let input = self.input(i)?;
        let vector = self.graph.shape(input).rank().is_none_or(|rank| rank == 1);
        if vector { elements(self.graph, input, 0, &mut NODES.clone()) } else { None }
    }

    fn handle(&self, i: usize) -> Option<(DataType, PartialShape)> {
        handle_contents(self.graph.nodes(), self.input(i)?)
    }
}

/// Maximum depth of the search for a value. Programs nest these few deep; deeper ones stay unknown.
const DEPTH: usize = 12;
/// Nodes visited in total: more than a shape has sizes. Shared nodes are visited repeatedly.
const NODES: usize = 512;

/// The known elements of an integer output. `budget`: nodes still to be visited.
fn elements(graph: &Graph, o: Output, depth: usize, budget: &mut usize) -> Option<PartialShape> {
    if depth > DEPTH {
        return None;
    }
    *budget = budget.checked_sub(1)?;
    let few = |t: &Tensor| t.elements() <= NODES;
    if let Some(ints) = graph.constant(o).filter(few).and_then(|t| t.to_i64s().ok()) {
        return PartialShape::new(&ints).ok();
    }
    let node = graph.node(o.node);
    (node.op.partial_value?)(&mut Partial { graph, node, output: o.index as usize, depth, budget })
}

struct Partial<'a> {
    graph: &'a Graph,
    node: &'a Node,
    output: usize,
    depth: usize,
    budget: &'a mut usize,
}

impl PartialCall for Partial<'_> {
    fn output(&self) -> usize {
        self.output
    }

    fn attrs(&self) -> &Attrs {
        &self.node.attrs
    }

    fn inputs(&self) -> usize {
        self.node.inputs.len()
    }

    fn shape(&self, i: usize) -> PartialShape {
        self.node.inputs.get(i).map_or_else(PartialShape::unknown, |o| self.graph.shape(*o))
    }

    fn constant(&self, i: usize) -> Option<Tensor> {
        self.graph.constant(*self.node.inputs.get(i)?)
    }

    fn elements(&mut self, i: usize) -> Option<PartialShape> {
        elements(self.graph, *self.node.inputs.get(i)?, self.depth + 1, self.budget)
    }
}

/// Type and shape of a resource handle's value, followed back to the node that made it.
pub fn handle_contents<N: FrameNode>(nodes: &[N], mut o: Output) -> Option<(DataType, PartialShape)> {
    for _ in 0..64 {
        let node = nodes.get(o.node.at())?;
        if let Some(contents) = node.op().handle_contents {
            return contents(node.attrs());
        }
        let passes = matches!(
            node.class(),
            Class::Switch | Class::Enter | Class::Exit | Class::NextIteration | Class::Merge
        );
        if !passes && !node.op().identity {
            return None;
        }
        o = *node.inputs().first()?;
    }
    None
}
