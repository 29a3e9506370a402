//! Control-flow contexts: which loop or branch a scope builds in. Values from outside are captured where they are used: by an
//! Enter into a loop, by a Switch into a branch.

use crate::output::Output;
use crate::scope::Scope;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_core::builder::Arg;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::{self, NodeId};
use thalweg_graph::NodeRequest;

pub(crate) struct Context {
    /// The same for the predicate and the body of one loop.
    id: u64,
    depth: u32,
    kind: Kind,
    /// The control input that makes nodes without inputs run with the context.
    pub pivot: Option<NodeId>,
    parent: Option<Arc<Context>>,
    captured: Captured,
}

type Captured = Arc<Mutex<HashMap<node::Output, node::Output>>>;

#[derive(Clone)]
pub(crate) enum Kind {
    Loop { frame: String, parallel_iterations: i64 },
    Branch { pred: node::Output, side: u32 },
}

impl Context {
    /// A new context inside that of a scope.
    pub fn inside(scope: &Scope, kind: Kind, pivot: Option<NodeId>) -> Arc<Context> {
        let id = {
            let mut shared = scope.lock();
            shared.contexts += 1;
            shared.contexts
        };
        let parent = scope.defaults.context.clone();
        let depth = depth(&parent) + 1;
        Arc::new(Context { id, depth, kind, pivot, parent, captured: Captured::default() })
    }

    /// The same loop with another pivot.
    pub fn with_pivot(&self, pivot: Option<NodeId>) -> Arc<Context> {
        Arc::new(Context {
            id: self.id,
            depth: self.depth,
            kind: self.kind.clone(),
            pivot,
            parent: self.parent.clone(),
            captured: self.captured.clone(),
        })
    }
}

fn depth(context: &Option<Arc<Context>>) -> u32 {
    context.as_ref().map_or(0, |c| c.depth)
}

/// Of two scopes, the one in the inner context: an op on their values belongs there.
pub(crate) fn innermost<'a>(a: &'a Scope, b: &'a Scope) -> &'a Scope {
    let inner = if a.is_same_graph(b) {
        depth(&b.defaults.context) > depth(&a.defaults.context)
    } else {
        b.function_depth() > a.function_depth()
    };
    if inner { b } else { a }
}

fn id(context: &Option<Arc<Context>>) -> Option<u64> {
    context.as_ref().map(|c| c.id)
}

impl Scope {
    /// The number of the loop or branch that this scope builds in.
    pub(crate) fn context_id(&self) -> Option<u64> {
        id(&self.defaults.context)
    }

    /// Captures an output for nodes of this scope.
    pub(crate) fn capture(&self, o: &Output) -> Result<node::Output> {
        if !self.is_same_graph(&o.scope) {
            return self.capture(&self.capture_outer(o)?);
        }
        let mut value = o.id.ok_or_else(|| invalid!("an input is the result of an earlier mistake"))?;
        let from = id(&o.scope.defaults.context);
        // The contexts to capture through, innermost first.
        let mut between = Vec::new();
        let mut at = self.defaults.context.clone();
        while id(&at) != from {
            let Some(context) = at else {
                return Err(invalid!(
                    "'{}' is inside a loop or branch: only what that returns can be used outside",
                    o.name()
                ));
            };
            at = context.parent.clone();
            between.push(context);
        }
        for context in between.iter().rev() {
            value = self.capture_into(context, value)?;
        }
        Ok(value)
    }

    fn capture_into(&self, context: &Context, value: node::Output) -> Result<node::Output> {
        let mut captured = context.captured.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = captured.get(&value) {
            return Ok(*known);
        }
        let mut shared = self.lock();
        let name = format!("{}/captured", shared.graph.node(value.node).name);
        let mut request = NodeRequest { name: &name, args: vec![Arg::One(value)], ..Default::default() };
        let made = match &context.kind {
            Kind::Loop { frame, parallel_iterations } => {
                request.op = "Enter";
                request.attrs.set("frame_name", frame.as_str());
                request.attrs.set("is_constant", true);
                request.attrs.set("parallel_iterations", *parallel_iterations);
                shared.graph.add_node(request)?.output(0)
            }
            Kind::Branch { pred, side } => {
                request.op = "Switch";
                request.args.push(Arg::One(*pred));
                shared.graph.add_node(request)?.output(*side)
            }
        };
        captured.insert(value, made);
        Ok(made)
    }

    /// The output as a value of this scope's context.
    pub(crate) fn own(&self, o: &Output) -> Output {
        Output { scope: self.clone(), id: o.id }
    }
}
