//! Shared by tests: the op table's examples, one call of an op, and the same call as a graph.

#![allow(dead_code)]

use std::sync::{Arc, OnceLock};
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::builder::Arg;
use thalweg_core::case::{Case, CaseGen};
use thalweg_core::direct;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::kernel::KernelNode;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Op;
use thalweg_core::registry::Registry;
use thalweg_core::resource::ResourceStore;
use thalweg_core::shape::PartialShape;
use thalweg_core::signature::{ArgType, Signature};
use thalweg_core::step::{DeviceContext, StepContext};
use thalweg_core::tensor::Tensor;
use thalweg_graph::{Graph, NodeRequest};
use thalweg_math::pool::Pool;
use thalweg_runtime::SessionOptions;

pub fn registry() -> &'static Arc<Registry> {
    static REGISTRY: OnceLock<Arc<Registry>> = OnceLock::new();
    REGISTRY.get_or_init(|| Arc::new(thalweg_ops::registry()))
}

pub fn ops() -> impl Iterator<Item = &'static Op> {
    thalweg_ops::ALL.iter().copied().flatten().copied()
}

/// A step on its own device with that many threads.
pub fn step(threads: usize) -> Arc<StepContext> {
    let device = DeviceContext {
        name: "/job:localhost/replica:0/task:0/device:CPU:0".into(),
        incarnation: 1,
        pool: Pool::new(threads).unwrap(),
        resources: Arc::new(ResourceStore::new("localhost")),
        memory: Arc::default(),
        entropy: Arc::new(|| 42),
        print: Arc::new(|_| {}),
        access: Arc::default(),
    };
    Arc::new(StepContext::new(1, Arc::new(device)))
}

/// Options without printing.
pub fn options(optimise: bool, threads: usize) -> SessionOptions {
    SessionOptions { optimise, threads, print: Some(Arc::new(|_| {})), ..Default::default() }
}

/// A number from the environment, for longer runs.
pub fn from_env(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(usual)
}

/// One call of one op.
#[derive(Clone)]
pub struct Example {
    pub op: &'static Op,
    pub label: String,
    pub inputs: Vec<Tensor>,
    pub attrs: Attrs,
    pub no_difference: Vec<usize>,
}

/// All cases of all ops.
pub fn examples() -> Vec<Example> {
    ops().flat_map(examples_of).collect()
}

pub fn examples_of(op: &'static Op) -> Vec<Example> {
    let cases = (op.cases)(&mut CaseGen::new(1));
    cases.into_iter().enumerate().map(|(i, case)| Example::new(op, i, case)).collect()
}

/// How an example's inputs are fed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Inputs {
    Constants,
    Placeholders,
    /// Placeholders without a declared shape.
    Unknown,
}

impl Inputs {
    pub const ALL: [Inputs; 3] = [Inputs::Constants, Inputs::Placeholders, Inputs::Unknown];
}

/// An example as a graph: the inputs, then the node.
pub struct Wired {
    pub graph: Graph,
    pub inputs: Vec<Output>,
    pub node: NodeId,
}

impl Wired {
    pub fn outputs(&self) -> Vec<Output> {
        (0..self.graph.node(self.node).outputs.len() as u32).map(|i| self.node.output(i)).collect()
    }
}

impl Example {
    fn new(op: &'static Op, number: usize, case: Case) -> Example {
        Example {
            op,
            label: format!("{} case {number}", op.name),
            inputs: case.inputs,
            attrs: case.attrs.into_iter().collect(),
            no_difference: case.no_difference,
        }
    }

    /// Its node, with all attrs.
    pub fn node(&self) -> Result<KernelNode> {
        direct::node_for(registry(), self.op, &self.inputs, self.attrs.clone())
    }

    pub fn call(&self, step: &Arc<StepContext>) -> Result<Vec<Tensor>> {
        self.call_on(step, self.inputs.clone())
    }

    pub fn call_on(&self, step: &Arc<StepContext>, inputs: Vec<Tensor>) -> Result<Vec<Tensor>> {
        direct::call(registry(), step, self.op.name, inputs, self.attrs.clone())
    }

    /// Whether two runs must give the same bits: not for ops that draw random numbers without a seed, or read the clock.
    pub fn repeats(&self) -> bool {
        let seeded = |name| matches!(self.attrs.get(name), Some(Attr::Int(v)) if *v != 0);
        !self.op.stateful || seeded("seed") || seeded("seed2")
    }

    pub fn wire(&self, how: Inputs) -> Result<Wired> {
        let mut graph = Graph::new(registry().clone());
        let node = self.node().map_err(|e| e.at_node("tested", self.op.name))?;
        let mut inputs = Vec::new();
        for t in &self.inputs {
            inputs.push(match how {
                Inputs::Constants => constant(&mut graph, t.clone())?,
                Inputs::Placeholders => placeholder(&mut graph, t.dtype(), t.shape().into())?,
                Inputs::Unknown => placeholder(&mut graph, t.dtype(), PartialShape::unknown())?,
            });
        }
        let args = arguments(registry().signature(self.op)?, &node, &inputs);
        let request =
            NodeRequest { op: self.op.name, name: "tested", args, attrs: node.attrs, ..Default::default() };
        let node = graph.add_node(request)?;
        Ok(Wired { graph, inputs, node })
    }

    /// The type attr of an input.
    pub fn type_attr(&self, node: &KernelNode, input: usize) -> Option<&'static str> {
        let signature = registry().signature(self.op).ok()?;
        let arg = node.args.iter().position(|range| range.contains(&input))?;
        match &signature.inputs[arg].ty {
            ArgType::Attr(name) => Some(name),
            _ => None,
        }
    }
}

/// Flat inputs as arguments of a signature.
pub fn arguments(signature: &Signature, node: &KernelNode, inputs: &[Output]) -> Vec<Arg> {
    signature
        .inputs
        .iter()
        .zip(&node.args)
        .map(|(spec, range)| match spec.number.is_some() || matches!(spec.ty, ArgType::List(_)) {
            true => Arg::List(inputs[range.clone()].to_vec()),
            false => Arg::One(inputs[range.start]),
        })
        .collect()
}

pub fn constant(graph: &mut Graph, t: Tensor) -> Result<Output> {
    let attrs = [("dtype", Attr::Type(t.dtype())), ("value", Attr::Tensor(t))].into_iter().collect();
    Ok(graph.add_node(NodeRequest { op: "Const", attrs, ..Default::default() })?.output(0))
}

pub fn placeholder(graph: &mut Graph, dtype: DataType, shape: PartialShape) -> Result<Output> {
    let attrs = [("dtype", Attr::Type(dtype)), ("shape", Attr::Shape(shape))].into_iter().collect();
    Ok(graph.add_node(NodeRequest { op: "Placeholder", attrs, ..Default::default() })?.output(0))
}

/// A tensor cast to another type: numbers by the Cast op, strings as printed.
pub fn cast(t: &Tensor, to: DataType) -> Result<Tensor> {
    if t.dtype() == to {
        return Ok(t.clone());
    }
    if to == DataType::String {
        let texts = (0..t.elements()).map(|i| t.element_text(i).into_bytes().into()).collect::<Vec<_>>();
        return Tensor::from_objects::<thalweg_proto::Bytes>(t.shape().clone(), texts);
    }
    let attrs = [("DstT", Attr::Type(to))].into_iter().collect();
    let step = shared_step();
    direct::call(registry(), step, "Cast", vec![t.clone()], attrs).map(|mut out| out.remove(0))
}

pub fn shared_step() -> &'static Arc<StepContext> {
    static STEP: OnceLock<Arc<StepContext>> = OnceLock::new();
    STEP.get_or_init(|| step(1))
}

/// Panics with all the failures of a test over the table, not only the first.
pub fn assert_none(what: &str, failures: Vec<String>) {
    assert!(failures.is_empty(), "{} {what}:\n{}", failures.len(), failures.join("\n"));
}
