//! Inlining of calls: function bodies become nodes, `If`, `Case` and `While` the primitives of control flow. Generic over the graphs
//! that gradients extend (`expand`) and for those that a session's passes rewrite.

mod case;
mod expand;
mod insert;
mod lower;

use crate::function::Body;
use crate::function_gradient;
use crate::node::Node;
pub use expand::expand_between;
use smallvec::SmallVec;
use thalweg_core::attr::{Attrs, Func};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::{CallKind, Class};

/// Maximum size of a graph after inlining.
pub const MAX_NODES: usize = 1 << 20;
/// Maximum of calls inlined.
pub const MAX_CALLS: usize = 1 << 16;

/// A node that calls functions.
#[derive(Clone)]
pub struct CallNode {
    pub name: String,
    pub attrs: Attrs,
    pub inputs: SmallVec<[Output; 2]>,
    pub control: SmallVec<[NodeId; 2]>,
}

/// A graph that calls can be inlined in.
pub trait InlineGraph {
    fn call(&self, id: NodeId) -> CallNode;
    fn class(&self, id: NodeId) -> Class;
    fn dtype(&self, o: Output) -> DataType;
    fn instantiate(&self, f: &Func) -> Result<Body>;
    /// The id of the next node.
    fn next_id(&self) -> Result<NodeId>;
    /// Adds a node named after the call; types follow from the attrs.
    fn add(
        &mut self,
        call: NodeId,
        suffix: &str,
        op: &str,
        inputs: &[Output],
        control: &[NodeId],
        attrs: Attrs,
    ) -> Result<NodeId>;
    /// Adds a copy of a body's node, with these inputs. Some of them may be added later.
    fn copy(
        &mut self,
        call: NodeId,
        suffix: &str,
        node: &Node,
        inputs: SmallVec<[Output; 2]>,
        control: SmallVec<[NodeId; 2]>,
    ) -> Result<()>;
    /// A loop's back edge.
    fn set_input(&mut self, node: NodeId, input: usize, from: Output) -> Result<()>;
    /// Whether values may be dead: there is control flow.
    fn has_control_flow(&self) -> bool;
    fn set_control_flow(&mut self);
    /// Whether `replace` needs a node that runs when all of the call has run.
    fn wants_end(&self, call: NodeId) -> bool;
    /// Replaces the call's outputs by the results, and its control edges out by those of `end`.
    fn replace(&mut self, call: NodeId, results: &[Output], end: Option<NodeId>) -> Result<()>;
    /// Replaces a `RemoteCall` by a call on its device, if that is known. Gradients do not go through one.
    fn lower_remote(&mut self, _: NodeId) -> Result<()> {
        Ok(())
    }
}

/// Inlines one call. Unsupported ones are unchanged.
pub fn lower_call(graph: &mut impl InlineGraph, id: NodeId) -> Result<()> {
    let Class::Call(kind) = graph.class(id) else { return Ok(()) };
    match kind {
        CallKind::Function => {
            let f = graph.call(id).attrs.func("f")?.clone();
            insert::inline_call(graph, id, &f)
        }
        CallKind::Gradient => {
            let f = function_gradient::gradient_of(&graph.call(id).attrs)?;
            insert::inline_call(graph, id, &f)
        }
        CallKind::Remote => graph.lower_remote(id),
        CallKind::If => lower::lower_if(graph, id),
        CallKind::Case => case::lower_case(graph, id),
        CallKind::While => lower::lower_while(graph, id),
    }
}
