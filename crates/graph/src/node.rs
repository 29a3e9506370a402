//! `Node`: one op of a graph with its attrs, inputs and known output shapes.

use crate::frames::FrameNode;
use smallvec::SmallVec;
use std::panic::Location;
use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::error::Error;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::{Class, Op};
use thalweg_core::shape::PartialShape;
use thalweg_core::signature::Port;

#[derive(Clone)]
pub struct Node {
    pub name: Arc<str>,
    pub op: &'static Op,
    /// All attrs, defaults included.
    pub attrs: Attrs,
    pub inputs: SmallVec<[Output; 2]>,
    /// Nodes that must have run before this one.
    pub control: SmallVec<[NodeId; 2]>,
    /// The requested device, may be partial; empty: any.
    pub device: Arc<str>,
    pub outputs: SmallVec<[Port; 1]>,
    /// Shapes of the outputs, as far as known.
    pub shapes: SmallVec<[PartialShape; 1]>,
    /// Call site that made the node.
    pub location: Option<&'static Location<'static>>,
}

impl Node {
    /// The nodes to be colocated with (attr `_class`, entries `loc:@name`).
    pub fn colocated_with(&self) -> impl Iterator<Item = &str> {
        let list = match self.attrs.get("_class") {
            Some(Attr::List(items)) => items.as_slice(),
            _ => &[],
        };
        list.iter().filter_map(|a| match a {
            Attr::Str(s) => std::str::from_utf8(s).ok().and_then(|s| s.strip_prefix("loc:@")),
            _ => None,
        })
    }

    pub fn shape(&self, output: u32) -> PartialShape {
        self.shapes.get(output as usize).cloned().unwrap_or_default()
    }

    /// Adds this node and its call site to an error.
    pub fn blame(&self, e: Error) -> Error {
        e.at_node(&self.name, self.op.name).at(self.location)
    }
}

impl FrameNode for Node {
    fn op(&self) -> &'static Op {
        self.op
    }
    fn attrs(&self) -> &Attrs {
        &self.attrs
    }
    fn inputs(&self) -> &[Output] {
        &self.inputs
    }
    fn control(&self) -> &[NodeId] {
        &self.control
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn is_free(&self) -> bool {
        matches!(self.op.class, Class::Constant | Class::Placeholder) && self.control.is_empty()
    }
    fn blame(&self, e: Error) -> Error {
        Node::blame(self, e)
    }
}
