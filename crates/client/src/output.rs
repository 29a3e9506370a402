//! `Output`: a tensor that a graph will compute; `Operation`: a node.

use crate::scope::Scope;
use std::fmt;
use thalweg_core::dtype::DataType;
use thalweg_core::node::{self, NodeId};
use thalweg_core::shape::PartialShape;

/// One output of a node. Cheap to clone; holds no value.
#[derive(Clone)]
pub struct Output {
    pub(crate) scope: Scope,
    /// `None` after a mistake.
    pub(crate) id: Option<node::Output>,
}

impl Output {
    pub(crate) fn new(scope: &Scope, id: Option<node::Output>) -> Output {
        // Nodes that operators make from this output get the scope's prefix, device and dependencies.
        Output { scope: scope.clone(), id }
    }

    /// The type of its elements.
    pub fn dtype(&self) -> DataType {
        self.id.map_or(DataType::Float, |o| self.scope.lock().graph.dtype(o))
    }

    /// The static shape.
    pub fn shape(&self) -> PartialShape {
        self.id.map_or(PartialShape::unknown(), |o| self.scope.lock().graph.shape(o))
    }

    /// The same tensor with a refined static shape, where shape inference is not precise enough: the values of a loop, for example.
    /// A shape that contradicts the inferred one is an error.
    #[track_caller]
    pub fn with_shape(&self, shape: &PartialShape) -> Output {
        if let Some(o) = self.id {
            let merged = {
                let mut shared = self.scope.lock();
                let node = shared.graph.node_mut(o.node);
                let merged = node.shape(o.index).merge(shape);
                if let (Ok(known), Some(slot)) = (&merged, node.shapes.get_mut(o.index as usize)) {
                    *slot = known.clone();
                }
                merged
            };
            if let Err(e) = merged {
                self.scope.fail(e, std::panic::Location::caller());
            }
        }
        self.clone()
    }

    /// `node:index`.
    pub fn name(&self) -> String {
        self.id.map_or_else(|| "<error>".into(), |o| self.scope.lock().graph.tensor_name(o))
    }

    /// The node that computes it.
    pub fn op(&self) -> Operation {
        Operation { scope: self.scope.clone(), id: self.id.map(|o| o.node) }
    }

    /// Another output of the same node.
    pub fn sibling(&self, index: u32) -> Output {
        let outputs = |id: NodeId| self.scope.lock().graph.node(id).outputs.len();
        let id = self.id.filter(|o| (index as usize) < outputs(o.node)).map(|o| o.node.output(index));
        Output { scope: self.scope.clone(), id }
    }
}

/// As Python prints a tensor of a graph.
impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Tensor(\"{}\", shape={}, dtype={})",
            self.name(),
            self.shape().python(),
            self.dtype().python_name()
        )
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A node, as a target of runs and of control dependencies.
#[derive(Clone)]
pub struct Operation {
    pub(crate) scope: Scope,
    pub(crate) id: Option<NodeId>,
}

impl Operation {
    /// The name of the node.
    pub fn name(&self) -> String {
        self.id.map_or_else(|| "<error>".into(), |id| self.scope.lock().graph.node(id).name.to_string())
    }

    /// The device that the node requests; empty for any.
    pub fn device(&self) -> String {
        self.id.map_or_else(String::new, |id| self.scope.lock().graph.node(id).device.to_string())
    }

    /// An output of the node.
    pub fn output(&self, index: u32) -> Output {
        let first = Output { scope: self.scope.clone(), id: self.id.map(|id| id.output(0)) };
        first.sibling(index)
    }
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<Operation '{}'>", self.name())
    }
}
