//! Feeds: their names, types and shapes, and the checks on them.

use super::compile::Signature;
use crate::passes::KnownShapes;
use crate::work::Work;
use std::collections::HashSet;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::Output;
use thalweg_core::op::Class;
use thalweg_core::placeholder::not_fed;
use thalweg_core::shape::{PartialShape, Shape};
use thalweg_core::tensor::Tensor;
use thalweg_graph::Graph;

/// The dtype and shape of a feed.
pub struct FeedInfo {
    pub tensor: String,
    pub dtype: DataType,
    pub shape: PartialShape,
}

impl FeedInfo {
    pub fn check(&self, value: &Tensor) -> Result<()> {
        if value.dtype() != self.dtype {
            let (name, want, got) = (&self.tensor, self.dtype, value.dtype());
            return Err(invalid!("'{name}' is {want}, cannot feed it a {got}; give it values of {want}"));
        }
        if !self.shape.allows(value.shape()) {
            return Err(invalid!(
                "Cannot feed value of shape {} for Tensor '{}', which has shape {}",
                value.shape(),
                self.tensor,
                self.shape
            ));
        }
        Ok(())
    }
}

pub fn feed_info(graph: &Graph, o: Output, any_shape: bool) -> FeedInfo {
    let node = graph.node(o.node);
    // The declared shape of a placeholder holds for the rest of the graph; other tensors may be fed with any shape.
    let declared = node.op.class == Class::Placeholder && !any_shape;
    let shape = if declared { graph.shape(o) } else { PartialShape::unknown() };
    FeedInfo { tensor: graph.tensor_name(o), dtype: graph.dtype(o), shape }
}

/// No tensor is fed twice.
pub fn check_distinct(graph: &Graph, signature: &Signature) -> Result<()> {
    let mut fed = HashSet::new();
    match signature.feeds.iter().find(|f| !fed.insert(**f)) {
        Some(twice) => Err(invalid!("Duplicated feeds: {}", graph.tensor_name(*twice))),
        None => Ok(()),
    }
}

/// The shapes of the feeds: those of a specialised plan, or the declared ones, which every step checks. A partial run has none.
pub fn known_shapes(
    graph: &Graph,
    signature: &Signature,
    shapes: Option<&[Shape]>,
    any_shape: bool,
) -> KnownShapes {
    let declared = if signature.partial { &[] } else { signature.feeds.as_slice() };
    let feeds = match shapes {
        Some(shapes) => shapes.iter().map(PartialShape::from).collect(),
        None => declared.iter().map(|o| feed_info(graph, *o, any_shape).shape).collect(),
    };
    let reshapes = |node: &thalweg_graph::Node| {
        node.outputs.first().is_some_and(|p| p.is_ref) && node.attrs.bool("validate_shape").is_ok_and(|v| !v)
    };
    KnownShapes { feeds, references: !graph.nodes().iter().any(reshapes) }
}

/// A placeholder left in the graph was not fed. With control flow it may never run, so its kernel reports that.
pub fn check_fed(work: &Work) -> Result<()> {
    if work.has_control_flow {
        return Ok(());
    }
    for node in &work.nodes {
        if node.op.class == Class::Placeholder {
            let error = not_fed(&node.name, &node.attrs);
            return Err(error.at_node(&node.name, node.op.name).at(node.location));
        }
    }
    Ok(())
}
