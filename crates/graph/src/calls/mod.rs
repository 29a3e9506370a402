//! Calls laid out in place: function bodies as nodes, `If`, `Case` and `While` as the primitives of control flow. Written once, for the graphs that
//! gradients extend (`expand`) and for those that a session's passes rewrite.

mod case;
mod expand;
mod insert;
mod lower;

use crate::function::Body;
use crate::node::Node;
pub use expand::expand_between;
use smallvec::SmallVec;
use thalweg_core::attr::{Attrs, Func};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::{CallKind, Class, Op};

/// Graphs larger than this are not made by laying out calls.
pub const MAX_NODES: usize = 1 << 20;
/// Calls that are laid out in all: many calls of many functions end somewhere.
pub const MAX_CALLS: usize = 1 << 16;

/// A node that calls functions, as laying it out needs it.
#[derive(Clone)]
pub struct CallNode {
    pub name: String,
    pub op: &'static Op,
    pub attrs: Attrs,
    pub inputs: SmallVec<[Output; 2]>,
    pub control: SmallVec<[NodeId; 2]>,
}

/// A graph that calls can be laid out in.
pub trait Ground {
    fn call(&self, id: NodeId) -> CallNode;
    fn class(&self, id: NodeId) -> Class;
    fn dtype(&self, o: Output) -> DataType;
    fn instantiate(&self, f: &Func) -> Result<Body>;
    /// The number that the next node will have.
    fn next_id(&self) -> Result<NodeId>;
    /// Adds a node named after the call; types follow from the attrs given.
    fn add(
        &mut self,
        call: NodeId,
        suffix: &str,
        op: &str,
        inputs: &[Output],
        control: &[NodeId],
        attrs: Attrs,
    ) -> Result<NodeId>;
    /// Adds a node of a body, with its ends moved to this graph. Some of them may not be there yet.
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
    /// Whether a node is wanted that runs when all of the call has; else `replace` gets none.
    fn wants_end(&self, call: NodeId) -> bool;
    /// The results stand for the call's outputs from now on, and `end` for the call itself where others wait for it.
    fn replace(&mut self, call: NodeId, results: &[Output], end: Option<NodeId>) -> Result<()>;
}

/// Lays out one call. Calls of other kinds, and those whose form the primitives do not have, stay as they are.
pub fn lay_out(ground: &mut impl Ground, id: NodeId) -> Result<()> {
    let Class::Call(kind) = ground.class(id) else { return Ok(()) };
    match kind {
        CallKind::Function => insert::inline_call(ground, id),
        CallKind::If => lower::lower_if(ground, id),
        CallKind::Case => case::lower_case(ground, id),
        CallKind::While => lower::lower_while(ground, id),
    }
}
