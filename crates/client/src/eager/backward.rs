//! Gradients of what a tape recorded: the recorded ops as a graph, the gradients of that graph, and a plan that computes them from recorded
//! values. Forward ops do not run again, but for those inside of graphs whose loops cannot be cut.

use super::structure::{Ref, Structure};
use super::tape::{GraphCall, Recorded, Tape};
use super::{Eager, EagerTensor, is_differentiable, variable_handle};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::builder::Arg;
use thalweg_core::error::{Result, internal, unimplemented};
use thalweg_core::grad::Grad;
use thalweg_core::invalid;
use thalweg_core::node::Output;
use thalweg_core::op::Class;
use thalweg_core::shape::PartialShape;
use thalweg_core::tensor::Tensor;
use thalweg_graph::gradients::{self, Options};
use thalweg_graph::{Graph, NodeRequest};
use thalweg_runtime::{Callable, Session, SessionOptions};

/// Structures whose gradients are kept.
pub(super) const MOST_KNOWN: usize = 512;

/// The gradient with respect to one tensor.
#[derive(Clone)]
pub enum EagerGradient {
    /// There is none.
    None,
    /// A tensor of the shape of `x`.
    Dense(EagerTensor),
    /// Rows.
    Slices {
        /// The rows.
        values: EagerTensor,
        /// Their indices.
        indices: EagerTensor,
        /// The shape of all rows.
        dense_shape: EagerTensor,
    },
}

/// Gradients, and how they were computed, for other tapes.
pub struct Gradients {
    /// In the order of the `xs`.
    pub values: Vec<EagerGradient>,
    /// What was run.
    pub what: Option<Recorded>,
    /// What it took.
    pub inputs: Vec<EagerTensor>,
    /// What it computed.
    pub outputs: Vec<EagerTensor>,
}

/// How to compute the gradients of one structure.
pub(super) struct Backward {
    callable: Option<Callable>,
    call: Arc<GraphCall>,
    feeds: Vec<Ref>,
    kinds: Vec<Kind>,
}

#[derive(Clone, Copy)]
enum Kind {
    None,
    Dense,
    Slices,
}

impl Tape {
    /// The gradients of the sum of `ys` with respect to each of `xs`. `grad_ys` are those of the `ys`: all, or none for ones.
    pub fn gradients(
        &self,
        eager: &Eager,
        ys: &[EagerTensor],
        xs: &[EagerTensor],
        grad_ys: &[EagerTensor],
    ) -> Result<Gradients> {
        if !grad_ys.is_empty() && grad_ys.len() != ys.len() {
            return Err(invalid!("{} gradients of {} results were given", grad_ys.len(), ys.len()));
        }
        if let Some((y, g)) = ys
            .iter()
            .zip(grad_ys)
            .find(|(y, g)| y.tensor.dtype() != g.tensor.dtype() || y.tensor.shape() != g.tensor.shape())
        {
            let (want, got) = (&y.tensor, &g.tensor);
            return Err(invalid!(
                "the gradient of a {} of shape {} cannot be a {} of shape {}",
                want.dtype(),
                want.shape(),
                got.dtype(),
                got.shape()
            ));
        }
        let structure = Structure::of(&self.records(), ys, xs);
        let known = eager
            .backward(structure.key(grad_ys.len()), || Backward::build(eager, &structure, grad_ys.len()))?;
        let take = |at: &Ref| {
            let found = match *at {
                Ref::Given(i) => grad_ys.get(i),
                at => structure.tensor(at),
            };
            found.cloned().ok_or_else(|| internal("a value of a tape is missing"))
        };
        let inputs: Vec<EagerTensor> = known.feeds.iter().map(take).collect::<Result<_>>()?;
        let computed = match &known.callable {
            Some(callable) => callable.run(inputs.iter().map(|i| i.tensor.clone()).collect())?,
            None => Vec::new(),
        };
        let outputs: Vec<EagerTensor> = computed.into_iter().map(|t| eager.tensor(t)).collect();
        let mut rest = outputs.iter().cloned();
        let mut next = || rest.next().ok_or_else(|| internal("a gradient is missing"));
        let values = known.kinds.iter().map(|kind| {
            Ok(match kind {
                Kind::None => EagerGradient::None,
                Kind::Dense => EagerGradient::Dense(next()?),
                Kind::Slices => {
                    EagerGradient::Slices { values: next()?, indices: next()?, dense_shape: next()? }
                }
            })
        });
        let values = values.collect::<Result<_>>()?;
        let what = known.callable.is_some().then(|| Recorded::Call(known.call.clone()));
        // On other tapes, variables are inputs too, though no values are given for them.
        let mut inputs = inputs;
        inputs.extend(structure.leaves.iter().filter(|l| variable_handle(&l.tensor).is_some()).cloned());
        Ok(Gradients { values, what, inputs, outputs })
    }
}

impl Backward {
    fn build(eager: &Eager, structure: &Structure, given: usize) -> Result<Backward> {
        let mut made = Forward::of(eager, structure)?;
        let (ys, xs) = (made.outputs(&structure.ys)?, made.outputs(&structure.xs)?);
        let differentiable: Vec<usize> = (0..ys.len())
            .filter(|i| ys.get(*i).is_some_and(|y| is_differentiable(made.graph.dtype(*y))))
            .collect();
        let mut grad_ys = Vec::new();
        for i in differentiable.iter().filter(|_| given > 0) {
            let Some(like) = structure.ys.get(*i).and_then(|y| structure.value(*y)) else { continue };
            let o = made.placeholder(like)?;
            made.values.insert(o, Ref::Given(*i));
            grad_ys.push(o);
        }
        let ys: Vec<Output> = differentiable.iter().filter_map(|i| ys.get(*i).copied()).collect();
        let options = Options { grad_ys: &grad_ys, ..Options::default() };
        let found = gradients::gradients(&mut made.graph, &ys, &xs, &options)?;
        let (mut kinds, mut fetches) = (Vec::new(), Vec::new());
        for grad in found {
            let (kind, parts) = match grad {
                Grad::None => (Kind::None, vec![]),
                Grad::Dense(o) => (Kind::Dense, vec![o]),
                Grad::Slices { values, indices, dense_shape } => {
                    (Kind::Slices, vec![values, indices, dense_shape])
                }
            };
            kinds.push(kind);
            // A fetch that is fed, or twice the same, is a value of its own.
            for o in parts {
                fetches.push(made.add("Identity", vec![o.into()], Attrs::new())?);
            }
        }
        let fed = made.crossing(&fetches)?;
        let mut feeds: Vec<Output> = fed.iter().map(|(o, _)| *o).collect();
        let session = Session::with_devices(
            made.graph.registry.clone(),
            SessionOptions::default(),
            vec![eager.ops().device().for_session()?],
        )?;
        let callable = match fetches.is_empty() {
            true => None,
            false => {
                session.extend(&made.graph)?;
                Some(session.callable(&feeds, &fetches, &[])?)
            }
        };
        // For other tapes: the handles of variables are inputs.
        feeds.extend(made.handles.iter().copied());
        let call = GraphCall { number: eager.fresh_id(), graph: made.graph, feeds, fetches };
        Ok(Backward {
            callable,
            call: Arc::new(call),
            feeds: fed.into_iter().map(|(_, at)| at).collect(),
            kinds,
        })
    }
}

/// The recorded ops as a graph.
struct Forward {
    graph: Graph,
    leaves: Vec<Output>,
    records: Vec<Vec<Output>>,
    /// The outputs whose values are known.
    values: HashMap<Output, Ref>,
    /// The handles of variables, in the order of the leaves.
    handles: Vec<Output>,
    /// Nodes of graphs that were called, which must not run again.
    random: HashSet<u32>,
}

impl Forward {
    fn of(eager: &Eager, structure: &Structure) -> Result<Forward> {
        let mut made = Forward {
            graph: Graph::new(eager.ops().registry().clone()),
            leaves: Vec::new(),
            records: Vec::new(),
            values: HashMap::new(),
            handles: Vec::new(),
            random: HashSet::new(),
        };
        for (i, leaf) in structure.leaves.iter().enumerate() {
            let o = made.leaf(leaf, Ref::Leaf(i))?;
            made.leaves.push(o);
        }
        for (at, (record, inputs)) in structure.records.iter().zip(&structure.inputs).enumerate() {
            let inputs = made.outputs(inputs)?;
            let outputs = match &record.what {
                Recorded::Op(op) => {
                    let list =
                        |r: &std::ops::Range<usize>| inputs.get(r.clone()).unwrap_or_default().to_vec();
                    let signature = made.graph.registry.clone();
                    let signature = signature.signature(op.op)?;
                    let arg = |(spec, r): (&thalweg_core::signature::ArgSpec, &std::ops::Range<usize>)| {
                        let is_list = spec.number.is_some()
                            || matches!(spec.ty, thalweg_core::signature::ArgType::List(_));
                        match (is_list, list(r).first()) {
                            (false, Some(one)) => Arg::One(*one),
                            _ => Arg::List(list(r)),
                        }
                    };
                    let args = signature.inputs.iter().zip(&op.node.args).map(arg).collect();
                    let first = made.add(op.op.name, args, op.node.attrs.clone())?;
                    (0..record.outputs.len() as u32).map(|i| first.node.output(i)).collect()
                }
                Recorded::Call(call) => made.call(at, call, &inputs)?,
            };
            for (i, (o, value)) in outputs.iter().zip(&record.outputs).enumerate() {
                let shape = PartialShape::from(value.tensor.shape());
                if let Some(known) = made.graph.node_mut(o.node).shapes.get_mut(o.index as usize) {
                    *known = shape;
                }
                made.values.insert(*o, Ref::Output(at, i));
            }
            made.records.push(outputs);
        }
        Ok(made)
    }

    fn leaf(&mut self, leaf: &EagerTensor, at: Ref) -> Result<Output> {
        let mut attrs = Attrs::new();
        if let Some((handle, (dtype, shape))) =
            variable_handle(&leaf.tensor).and_then(|h| Some((h, h.values.first().cloned()?)))
        {
            attrs.set("container", Attr::str(&handle.container));
            attrs.set("shared_name", Attr::str(&handle.name));
            attrs.set("dtype", dtype);
            attrs.set("shape", shape);
            let o = self.add("VarHandleOp", Vec::new(), attrs)?;
            self.handles.push(o);
            return Ok(o);
        }
        if Structure::is_literal(leaf) {
            attrs.set("dtype", leaf.tensor.dtype());
            attrs.set("value", leaf.tensor.clone());
            return self.add("Const", Vec::new(), attrs);
        }
        let o = self.placeholder(&leaf.tensor)?;
        self.values.insert(o, at);
        Ok(o)
    }

    fn placeholder(&mut self, like: &Tensor) -> Result<Output> {
        let mut attrs = Attrs::new();
        attrs.set("dtype", like.dtype());
        attrs.set("shape", PartialShape::from(like.shape()));
        self.add("Placeholder", Vec::new(), attrs)
    }

    fn call(&mut self, at: usize, call: &GraphCall, inputs: &[Output]) -> Result<Vec<Output>> {
        let instead: HashMap<Output, Output> =
            call.feeds.iter().copied().zip(inputs.iter().copied()).collect();
        let moved = self.graph.splice(&call.graph, &format!("call{at}"), &instead)?;
        let here = |o: &Output| thalweg_core::node::NodeId(o.node.0.saturating_add(moved)).output(o.index);
        for (id, node) in call.graph.ids().zip(call.graph.nodes()) {
            let of_variable = node.op.handle_contents.is_some()
                || node
                    .inputs
                    .iter()
                    .any(|i| call.graph.dtype(*i) == thalweg_core::dtype::DataType::Resource);
            if node.op.stateful && node.op.class == Class::Plain && !of_variable {
                self.random.insert(id.0.saturating_add(moved));
            }
        }
        // A feed that is fetched is the value itself.
        Ok(call.fetches.iter().map(|o| instead.get(o).copied().unwrap_or_else(|| here(o))).collect())
    }

    fn add(&mut self, op: &str, args: Vec<Arg>, attrs: Attrs) -> Result<Output> {
        Ok(self.graph.add_node(NodeRequest { op, args, attrs, ..NodeRequest::default() })?.output(0))
    }

    fn outputs(&self, refs: &[Ref]) -> Result<Vec<Output>> {
        let find = |at: &Ref| match *at {
            Ref::Leaf(i) => self.leaves.get(i).copied(),
            Ref::Output(record, i) => self.records.get(record).and_then(|r| r.get(i)).copied(),
            Ref::Given(_) => None,
        };
        refs.iter().map(|at| find(at).ok_or_else(|| internal("a tensor of a tape is missing"))).collect()
    }

    /// The known values that are needed for these outputs.
    fn crossing(&self, fetches: &[Output]) -> Result<Vec<(Output, Ref)>> {
        let (mut found, mut seen, mut taken) = (Vec::new(), HashSet::new(), HashSet::new());
        let mut stack: Vec<Output> = fetches.to_vec();
        while let Some(o) = stack.pop() {
            if let Some(at) = self.values.get(&o) {
                if taken.insert(o) {
                    found.push((o, *at));
                }
                continue;
            }
            if !seen.insert(o.node) {
                continue;
            }
            let node = self.graph.node(o.node);
            if self.random.contains(&o.node.0) {
                return Err(unimplemented(format_args!(
                    "the gradient outside of a function with loops would run its {} '{}' again, with other results: take the gradient inside of the function",
                    node.op.name, node.name
                )));
            }
            stack.extend(node.inputs.iter().copied());
            stack.extend(node.control.iter().map(|id| id.output(u32::MAX)));
        }
        Ok(found)
    }
}

/// The tensors inside of a graph that gradients of `ys` with respect to `xs` take: what to fetch beside the results, so that gradients
/// taken later need not run the graph again. None where loops or branches keep them from being fetched.
pub fn saved_for_gradients(graph: &Graph, ys: &[Output], xs: &[Output]) -> Result<Vec<Output>> {
    if graph.nodes().iter().any(|n| n.op.class.is_control_flow() || matches!(n.op.class, Class::Call(_))) {
        return Ok(Vec::new());
    }
    let mut graph = graph.clone();
    let before = graph.len() as u32;
    let found = gradients::gradients(&mut graph, ys, xs, &Options::default())?;
    let mut stack: Vec<Output> = Vec::new();
    for grad in found {
        match grad {
            Grad::None => {}
            Grad::Dense(o) => stack.push(o),
            Grad::Slices { values, indices, dense_shape } => stack.extend([values, indices, dense_shape]),
        }
    }
    let (mut saved, mut seen, mut taken) = (Vec::new(), HashSet::new(), HashSet::new());
    while let Some(o) = stack.pop() {
        let node = graph.node(o.node);
        if o.node.0 < before {
            let fixed = matches!(node.op.class, Class::Constant | Class::Placeholder)
                || node.op.handle_contents.is_some();
            if !fixed && taken.insert(o) {
                saved.push(o);
            }
        } else if seen.insert(o.node) {
            stack.extend(node.inputs.iter().copied());
        }
    }
    Ok(saved)
}
