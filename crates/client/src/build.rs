//! `OpBuilder`: any op of the table, by name.

use crate::output::{Operation, Output};
use crate::outputs::Outputs;
use crate::scope::Scope;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::panic::Location;
use thalweg_core::attr::{self, Attr, Attrs};
use thalweg_core::builder::Arg;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Code, Error, Result};
use thalweg_core::node::NodeId;
use thalweg_graph::{Graph, NodeRequest};

/// A node under construction: `g.op("MatMul").input(&a).input(&b).attr("transpose_a", true).output()`.
pub struct OpBuilder<'a> {
    scope: &'a Scope,
    op: &'a str,
    name: &'a str,
    as_scope: bool,
    args: Result<Vec<Arg>>,
    attrs: Attrs,
    location: &'static Location<'static>,
}

/// TensorFlow's graph seed where an op has a seed and the graph has none.
const DEFAULT_GRAPH_SEED: i64 = 87654321;

impl Scope {
    /// Starts a node of the op type `op`. Inputs and attrs follow in the order and under the names of the op's signature (`thalweg ops NAME`).
    #[track_caller]
    pub fn op<'a>(&'a self, op: &'a str) -> OpBuilder<'a> {
        let caller = Location::caller();
        OpBuilder {
            scope: self,
            op,
            name: "",
            as_scope: false,
            args: Ok(Vec::new()),
            attrs: Attrs::new(),
            location: self.defaults.location.unwrap_or(caller),
        }
    }
}

impl Scope {
    /// The two seeds that an op with this one gets, see [`OpBuilder::seeds`]. Without one of its own, TensorFlow's second seed is the number of
    /// such ops before it, in the graph or in the body of the loop or branch.
    pub fn seeds_for(&self, own: Option<i64>) -> (i64, i64) {
        let (seed, seed2) = {
            let mut shared = self.lock();
            match (shared.seed, own) {
                (Some(graph), Some(own)) => (graph, own),
                (Some(graph), None) => {
                    let drawn = shared.seeded.entry(self.context_id()).or_default();
                    let next = *drawn;
                    *drawn = drawn.saturating_add(1);
                    (graph, next)
                }
                (None, Some(own)) => (DEFAULT_GRAPH_SEED, own),
                (None, None) => (0, 0),
            }
        };
        // Two zeros mean "not seeded".
        let is_seeded = own.is_some() || self.lock().seed.is_some();
        let seed2 = if (seed, seed2) == (0, 0) && is_seeded { i64::from(i32::MAX) } else { seed2 };
        (seed, seed2)
    }
}

impl<'a> OpBuilder<'a> {
    /// The node's name; the op's type if none is given. A name in use gets a number. One that ends with a slash was returned by
    /// [`Scope::unique_name`] or is the prefix of a name scope: it is used as it is, without the slash and without the scope's prefix.
    pub fn name(mut self, name: &'a str) -> Self {
        self.name = name;
        self
    }

    /// The node gets the name of its scope: in `g.name_scope("loss")` it is `loss`, not `loss/...`. For one node of a scope.
    pub fn named_as_scope(mut self) -> Self {
        self.as_scope = true;
        self
    }

    /// The next input; of this graph, or captured from an outer one.
    pub fn input(mut self, input: impl Borrow<Output>) -> Self {
        self.args = self.args.and_then(|mut args| {
            args.push(Arg::One(self.scope.capture(input.borrow())?));
            Ok(args)
        });
        self
    }

    /// A list input.
    pub fn inputs<O: Borrow<Output>>(mut self, inputs: &[O]) -> Self {
        self.args = self.args.and_then(|mut args| {
            let captured = inputs.iter().map(|o| self.scope.capture(o.borrow()));
            args.push(Arg::List(captured.collect::<Result<_>>()?));
            Ok(args)
        });
        self
    }

    /// Sets an attr; those with a default may be left out.
    pub fn attr(mut self, name: impl Into<attr::Name>, value: impl Into<Attr>) -> Self {
        self.attrs.set(name, value);
        self
    }

    /// Sets the two seeds of a random op, as TensorFlow derives them from the graph's seed and the op's own. With both, the op's
    /// is the second. With the graph's alone, the second counts such ops, so that they have different sequences. With neither,
    /// every session draws different numbers.
    pub fn seeds(self, own: Option<i64>) -> Self {
        let (seed, seed2) = self.scope.seeds_for(own);
        self.attr("seed", seed).attr("seed2", seed2)
    }

    /// Makes the node. The scope records a mistake, with the caller's file and line.
    pub fn build(self) -> Operation {
        let (scope, location) = (self.scope, self.location);
        let id = match self.try_build() {
            Ok(id) => Some(id),
            Err(e) => {
                scope.fail(e, location);
                None
            }
        };
        Operation { scope: scope.clone(), id }
    }

    /// Makes the node and returns its first output.
    pub fn output(self) -> Output {
        self.build().output(0)
    }

    /// Makes the node and returns its outputs.
    pub fn outputs(self) -> Outputs {
        let op = self.build();
        let count = op.id.map_or(0, |id| op.scope.lock().graph.node(id).outputs.len() as u32);
        Outputs::new(&op.scope, (0..count).map(|i| op.output(i)).collect())
    }

    fn try_build(self) -> Result<NodeId> {
        let args = self.args?;
        let base = match (self.as_scope, self.name) {
            (true, _) => "",
            (false, "") => self.op,
            (false, name) => name,
        };
        let name = match base.ends_with('/') {
            true => base.to_string(),
            false => format!("{}{base}", self.scope.defaults.prefix),
        };
        let mut control = self.scope.defaults.control.clone();
        let has_inputs = args.iter().any(|a| !matches!(a, Arg::List(list) if list.is_empty()));
        if !has_inputs {
            control.extend(self.scope.defaults.context.as_ref().and_then(|c| c.pivot));
        }
        let device = self.scope.defaults.devices.of(self.op, &self.attrs);
        let mut request = NodeRequest {
            op: self.op,
            name: &name,
            args,
            attrs: self.attrs,
            control: &control,
            device: &device,
            location: Some(self.location),
        };
        let (op, given) = (self.op, request.args.clone());
        let mut shared = self.scope.lock();
        if let Some(container) = &shared.container
            && request.attrs.get("container").is_none()
            && takes_container(&shared.graph, op)
        {
            request.attrs.set("container", Attr::str(container));
        }
        if !self.scope.defaults.colocated.is_empty() {
            request.attrs.set("_class", colocation(&self.scope.defaults.colocated, &shared.graph));
        }
        shared.graph.add_node(request).map_err(|e| with_inputs(e, op, &given, &shared.graph))
    }
}

fn takes_container(graph: &Graph, op: &str) -> bool {
    graph.registry.get(op).is_some_and(|op| op.attrs.iter().any(|attr| attr.starts_with("container: ")))
}

/// The attr that colocates a node with these.
fn colocation(with: &[NodeId], graph: &Graph) -> Attr {
    Attr::List(with.iter().map(|id| Attr::str(&format!("loc:@{}", graph.node(*id).name))).collect())
}

/// Inputs that an error names at most.
const MAX_NAMED: usize = 6;

/// Adds the inputs to an error, and suggests a cast where their types differ.
fn with_inputs(e: Error, op: &str, args: &[Arg], graph: &Graph) -> Error {
    let outputs = args.iter().flat_map(|arg| match arg {
        Arg::One(o) => std::slice::from_ref(o),
        Arg::List(list) => list,
    });
    let inputs: Vec<String> = outputs
        .take(MAX_NAMED)
        .map(|o| format!("'{}' ({} {})", graph.tensor_name(*o), graph.dtype(*o), graph.shape(*o)))
        .collect();
    if inputs.is_empty() || e.code() != Code::InvalidArgument {
        return e;
    }
    let remedy = if types_differ(op, args, graph) { "; cast one of them (Scope::cast)" } else { "" };
    e.context(format_args!("{op} of {}{remedy}", inputs.join(" and ")))
}

/// Whether inputs of one type attr have different types.
fn types_differ(op: &str, args: &[Arg], graph: &Graph) -> bool {
    let Some(op) = graph.registry.get(op) else { return false };
    let mut types: HashMap<&str, DataType> = HashMap::new();
    op.inputs.iter().zip(args).any(|(signature, arg)| {
        let (Some((_, name)), Arg::One(o)) = (signature.split_once(": "), arg) else { return false };
        let have = graph.dtype(*o);
        *types.entry(name).or_insert(have) != have
    })
}
