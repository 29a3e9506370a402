//! `Scope::function`: a closure traced into a function of the graph's library.

use crate::output::Output;
use crate::scope::{Scope, Shared};
use std::panic::Location;
use std::sync::{Arc, Mutex};
use thalweg_core::attr::Func;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, internal};
use thalweg_core::invalid;
use thalweg_core::node::{self, NodeId};
use thalweg_core::shape::PartialShape;
use thalweg_graph::function::Function;
use thalweg_graph::{Graph, NodeRequest};

/// A function of a graph's library.
#[derive(Clone)]
pub struct TracedFunction {
    /// Its name and attrs, for attrs that take a function.
    pub func: Func,
    /// Captured outer values: its last arguments.
    pub captured: Vec<Output>,
    /// Types and shapes of its results.
    pub results: Vec<(DataType, PartialShape)>,
}

/// The state of a function body under construction.
pub(crate) struct Body {
    outer: Scope,
    /// The nesting depth of functions, this one included.
    depth: u32,
    args: Vec<NodeId>,
    /// Captured outer values, each with its argument.
    captured: Vec<(node::Output, NodeId)>,
}

impl Scope {
    /// Traces a closure into a function of these arguments: `g.function("double", &[(Float, shape)], |g, x| vec![&x[0] + &x[0]])`.
    /// Captured outer values become further arguments. The function is named `name`, or with a number if that is taken.
    #[track_caller]
    pub fn function<R: Into<Vec<Output>>>(
        &self,
        name: &str,
        args: &[(DataType, PartialShape)],
        build: impl FnOnce(&Scope, &[Output]) -> R,
    ) -> Result<TracedFunction> {
        let location = Location::caller();
        self.check()?;
        let inner = self.inside();
        let given: Vec<Output> =
            args.iter().map(|(dtype, shape)| inner.argument("arg", *dtype, shape)).collect::<Result<_>>()?;
        let results: Vec<Output> = build(&inner, &given).into();
        inner.check()?;
        let results: Vec<node::Output> = results.iter().map(|o| inner.capture(o)).collect::<Result<_>>()?;
        self.keep(name, &inner, &results).map_err(|e| e.at(Some(location)))
    }

    /// A scope over an empty graph for a function body.
    fn inside(&self) -> Scope {
        let (mut graph, seed) = {
            let shared = self.lock();
            let mut graph = Graph::new(shared.graph.registry.clone());
            graph.library = shared.graph.library.clone();
            (graph, shared.seed)
        };
        graph.producer = self.lock().graph.producer;
        let depth = self.function_depth() + 1;
        let body = Body { outer: self.clone(), depth, args: Vec::new(), captured: Vec::new() };
        let shared = Shared { seed, body: Some(body), ..Shared::new(graph) };
        Scope { shared: Arc::new(Mutex::new(shared)), defaults: Arc::default() }
    }

    /// A new argument of the function whose body this scope builds.
    fn argument(&self, name: &str, dtype: DataType, shape: &PartialShape) -> Result<Output> {
        let mut shared = self.lock();
        let index = shared.body.as_ref().map_or(0, |b| b.args.len());
        let mut request = NodeRequest { op: "_Arg", name, ..Default::default() };
        request.attrs.set("T", dtype);
        request.attrs.set("index", index as i64);
        let id = shared.graph.add_node(request)?;
        if let Some(known) = shared.graph.node_mut(id).shapes.first_mut() {
            *known = shape.clone();
        }
        if let Some(body) = &mut shared.body {
            body.args.push(id);
        }
        drop(shared);
        Ok(Output::new(self, Some(id.output(0))))
    }

    /// Captures a value of the outer graph as an argument.
    pub(crate) fn capture_outer(&self, o: &Output) -> Result<Output> {
        let outer = self.lock().body.as_ref().map(|b| b.outer.clone());
        let Some(outer) = outer else { return Err(invalid!("'{}' belongs to another graph", o.name())) };
        let value = outer.capture(o)?;
        let known =
            self.lock().body.as_ref().and_then(|b| {
                b.captured.iter().find(|(from, _)| *from == value).map(|(_, argument)| *argument)
            });
        if let Some(argument) = known {
            return Ok(Output::new(&self.root(), Some(argument.output(0))));
        }
        let argument = self.root().argument("captured", o.dtype(), &o.shape())?;
        let id = argument.id.ok_or_else(|| internal("an argument could not be made"))?;
        if let Some(body) = &mut self.lock().body {
            body.captured.push((value, id.node));
        }
        Ok(argument)
    }

    /// The nesting depth of functions.
    pub(crate) fn function_depth(&self) -> u32 {
        self.lock().body.as_ref().map_or(0, |b| b.depth)
    }

    /// Adds a complete body to this graph's library, with the functions made inside of it.
    fn keep(&self, name: &str, inner: &Scope, results: &[node::Output]) -> Result<TracedFunction> {
        let shared = inner.lock();
        let body = shared.body.as_ref().ok_or_else(|| internal("not the body of a function"))?;
        let captured: Vec<NodeId> = body.captured.iter().map(|(_, argument)| *argument).collect();
        let given = body.args.iter().filter(|id| !captured.contains(id));
        let args: Vec<NodeId> = given.chain(&captured).copied().collect();
        let library = &shared.graph.library;
        let taken =
            |name: &String| library.get(name).is_some() || self.lock().graph.library.get(name).is_some();
        let numbered = (1..).map(|i| format!("{name}_{i}"));
        let name = std::iter::once(name.to_string()).chain(numbered).find(|n| !taken(n)).unwrap_or_default();
        let function = Function::of_graph(&name, &shared.graph, &args, results)?;
        let mut outer = self.lock();
        for inside in library.names() {
            if outer.graph.library.get(inside).is_none() {
                outer.graph.library.add(Function::clone(library.find(inside)?))?;
            }
        }
        outer.graph.library.add(function)?;
        drop(outer);
        let outer_value = |(value, _): &(node::Output, NodeId)| Output::new(self, Some(*value));
        Ok(TracedFunction {
            func: Func::named(name),
            captured: body.captured.iter().map(outer_value).collect(),
            results: results.iter().map(|o| (shared.graph.dtype(*o), shared.graph.shape(*o))).collect(),
        })
    }
}
