//! Shape inference on the work graph, from the shapes of feeds and variables.
//!
//! A placeholder's declared shape is checked in every run, and a variable keeps its own unless the graph assigns without validating
//! shapes. Outputs of control flow, and tensors fed in place of others, may have any shape.

use crate::work::{Kind, Work, WorkNode};
use smallvec::SmallVec;
use std::collections::HashMap;
use thalweg_core::dtype::DataType;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;
use thalweg_core::shape::{PartialShape, Shape};
use thalweg_core::shape_call::{ShapeCall, ShapeSource};
use thalweg_core::tensor::Tensor;
use thalweg_graph::infer::handle_contents;

/// Shapes known before inference. By default, none.
#[derive(Default)]
pub struct KnownShapes {
    /// Shapes of the feeds.
    pub feeds: Vec<PartialShape>,
    /// Whether variables that are read by reference keep the shape they declare.
    pub references: bool,
}

pub struct Shapes<'g> {
    known: &'g KnownShapes,
    /// By node; empty where nothing is known.
    of: Vec<SmallVec<[PartialShape; 1]>>,
    /// Nodes that may be dead, or may fail because a queue or dataset has ended: their users must keep waiting for them.
    may_be_missing: Vec<bool>,
}

impl<'g> Shapes<'g> {
    pub fn new(work: &Work, known: &'g KnownShapes) -> Self {
        let nodes = work.nodes.len();
        Shapes { known, of: vec![SmallVec::new(); nodes], may_be_missing: vec![false; nodes] }
    }

    /// Infers the next node of an order in which inputs come first. `moved`: outputs that are replaced by others.
    pub fn visit(&mut self, work: &Work, id: NodeId, moved: &HashMap<Output, Output>) {
        let node = work.node(id);
        let before = node.inputs.iter().map(|o| o.node).chain(node.control.iter().copied());
        self.may_be_missing[id.at()] = may_be_missing(node) || before.into_iter().any(|n| self.uncertain(n));
        self.of[id.at()] = self.infer(work, node, id, moved);
    }

    fn infer(
        &self,
        work: &Work,
        node: &WorkNode,
        id: NodeId,
        moved: &HashMap<Output, Output>,
    ) -> SmallVec<[PartialShape; 1]> {
        match &node.kind {
            Kind::Value(t) => smallvec::smallvec![t.shape().into()],
            Kind::Feed(i) => self.known.feeds.get(*i).cloned().into_iter().collect(),
            Kind::Op if !self.known.references && node.outputs.iter().any(|p| p.is_ref) => SmallVec::new(),
            Kind::Op if !self.may_be_missing[id.at()] => {
                self.by_rule(Source { work, node, moved }).unwrap_or_default()
            }
            _ => SmallVec::new(),
        }
    }

    fn by_rule(&self, source: Source<'_>) -> Option<SmallVec<[PartialShape; 1]>> {
        let node = source.node;
        let shape = |(i, o): (usize, &Output)| match source.value(i) {
            Some(t) => t.shape().into(),
            None => self.partial(*o),
        };
        let inputs: SmallVec<[PartialShape; 4]> = node.inputs.iter().enumerate().map(shape).collect();
        let args = source.work.registry.signature(node.op).ok()?.input_ranges(&node.attrs).ok()?;
        let call = ShapeCall {
            inputs: &inputs,
            attrs: &node.attrs,
            args: &args,
            outputs: node.outputs.len(),
            source: &source,
        };
        Some((node.op.shape)(&call).ok()?.into())
    }

    fn partial(&self, o: Output) -> PartialShape {
        self.of.get(o.node.at()).and_then(|s| s.get(o.index as usize)).cloned().unwrap_or_default()
    }

    fn uncertain(&self, id: NodeId) -> bool {
        self.may_be_missing.get(id.at()).copied().unwrap_or(true)
    }

    /// The shape of a value that every run has, if it is always the same.
    pub fn shape(&self, o: Output) -> Option<Shape> {
        if self.uncertain(o.node) { None } else { self.partial(o).to_shape() }
    }
}

/// Whether the node may be dead or fail: control flow, Recv, and everything stateful except variables.
fn may_be_missing(node: &WorkNode) -> bool {
    let variable =
        node.op.always_produces || (node.inputs.is_empty() && node.outputs.iter().all(|p| p.is_ref));
    let class = node.op.class;
    class.is_control_flow() || class == Class::Recv || (node.is_stateful() && !variable)
}

struct Source<'a> {
    work: &'a Work,
    node: &'a WorkNode,
    moved: &'a HashMap<Output, Output>,
}

impl<'a> Source<'a> {
    /// The value of a constant input.
    fn value(&self, i: usize) -> Option<&'a Tensor> {
        let input = self.node.inputs.get(i)?;
        match &self.work.node(self.moved.get(input).unwrap_or(input).node).kind {
            Kind::Value(t) => Some(t),
            _ => None,
        }
    }
}

impl ShapeSource for Source<'_> {
    fn constant(&self, i: usize) -> Option<Tensor> {
        self.value(i).cloned()
    }

    fn as_shape(&self, _: usize) -> Option<PartialShape> {
        None
    }

    fn handle(&self, i: usize) -> Option<(DataType, PartialShape)> {
        handle_contents(&self.work.nodes, *self.node.inputs.get(i)?)
    }
}
