//! `DatasetToGraph`, `DatasetToGraphV2`, `DatasetFromGraph`, `DatasetFingerprint`: a dataset as the graph of the nodes that made it, and back.

use super::sequence::{DatasetRef, Maker, dataset_of, input};
use crate::prelude::*;
use std::collections::HashMap;
use thalweg_core::step::{GraphNode, Names, SerializedGraph, StepContext};

pub static DATASET_TO_GRAPH: Op = Op {
    name: "DatasetToGraph",
    doc: "A serialised GraphDef of a dataset.",
    inputs: &["input_dataset: variant"],
    outputs: &["graph: string"],
    attrs: &[
        "stateful_whitelist: list(string) >= 0 = []",
        "allow_stateful: bool = false",
        "strip_device_assignment: bool = false",
    ],
    shape: shape_call::scalar,
    grad: Stops,
    kernels: cpu!(to_graph),
    ..Op::PURE
};

pub static DATASET_TO_GRAPH_V2: Op = Op {
    name: "DatasetToGraphV2",
    attrs: &["external_state_policy: int = 0", "strip_device_assignment: bool = false"],
    kernels: cpu!(to_graph_v2),
    ..DATASET_TO_GRAPH
};

pub static DATASET_FROM_GRAPH: Op = Op {
    name: "DatasetFromGraph",
    doc: "The dataset of a serialised GraphDef.",
    inputs: &["graph_def: string"],
    outputs: &["handle: variant"],
    attrs: &[],
    kernels: cpu!(async prepare_from_graph),
    ..DATASET_TO_GRAPH
};

pub static DATASET_FINGERPRINT: Op = Op {
    name: "DatasetFingerprint",
    doc: "A number that tells a dataset from others, and is the same for the same dataset. It is not TensorFlow's.",
    outputs: &["fingerprint: uint64"],
    attrs: &[],
    kernels: cpu!(dataset_fingerprint),
    ..DATASET_TO_GRAPH
};

/// `POLICY_FAIL` of TensorFlow's `ExternalStatePolicy`: state outside of the dataset is an error.
const FAIL: i64 = 2;

fn to_graph(c: &mut OpCall<'_>) -> Result<()> {
    serialize(c, c.attrs().bool("allow_stateful")?)
}

fn to_graph_v2(c: &mut OpCall<'_>) -> Result<()> {
    serialize(c, c.attrs().int("external_state_policy")? != FAIL)
}

fn dataset_fingerprint(c: &mut OpCall<'_>) -> Result<()> {
    let number = fingerprint(&input(c, 0)?, c.step)?;
    c.set(0, Tensor::scalar(number));
    Ok(())
}

fn serialize(c: &mut OpCall<'_>, allow_stateful: bool) -> Result<()> {
    let graph = graph_of(&input(c, 0)?, c.step, Names::Given)?;
    if !allow_stateful && let Some(op) = graph.stateful.iter().find(|op| is_external(op)) {
        return Err(failed_precondition(format_args!(
            "Failed to serialize the input pipeline graph: {op} is stateful."
        )));
    }
    c.set(0, Tensor::from_object(bytes::Bytes::from(graph.graph_def)));
    Ok(())
}

/// Whether a stateful op has state outside of the dataset: of datasets, only sources are marked stateful, so that they are not folded.
fn is_external(op: &str) -> bool {
    let dataset =
        op.trim_end_matches(|d: char| d.is_ascii_digit()).trim_end_matches('V').ends_with("Dataset");
    !dataset && !["Assert", "If", "While", "Case", "PartitionedCall", "StatefulPartitionedCall"].contains(&op)
}

/// The GraphDef of a dataset, whose output is the input of the node `dataset`.
pub fn graph_of(dataset: &DatasetRef, step: &Arc<StepContext>, names: Names) -> Result<SerializedGraph> {
    let mut graph = Graph::default();
    let name = graph.add(dataset)?;
    graph.node(
        "dataset".into(),
        "_Retval",
        vec![name],
        &[("T", DataType::Variant.into()), ("index", 0.into())],
    )?;
    match &step.functions {
        Some(runner) => runner.graph_def(graph.nodes, names),
        None => Err(unimplemented("no function library to serialise a dataset with")),
    }
}

/// A number that is the same for the same dataset, of its graph. Names that a program gives its functions do not count.
pub fn fingerprint(dataset: &DatasetRef, step: &Arc<StepContext>) -> Result<u64> {
    let graph = graph_of(dataset, step, Names::Canonical)?.graph_def;
    // FNV-1a.
    Ok(graph.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3)))
}

/// The nodes of a graph. A dataset that several others have as input is one node.
#[derive(Default)]
struct Graph {
    nodes: Vec<GraphNode>,
    /// Names by address; the datasets, so that addresses stay theirs.
    names: HashMap<usize, (String, DatasetRef)>,
}

impl Graph {
    /// Adds a dataset, after its inputs; its name.
    fn add(&mut self, root: &DatasetRef) -> Result<String> {
        let mut rest = vec![(root.clone(), false)];
        while let Some((dataset, inputs_done)) = rest.pop() {
            if self.names.contains_key(&dataset.address()) {
                continue;
            }
            let maker = dataset.maker()?;
            if inputs_done {
                let name = self.add_made(&maker)?;
                self.names.insert(dataset.address(), (name, dataset));
                continue;
            }
            reserve::push(&mut rest, (dataset, true))?;
            for input in maker.inputs.iter().rev().filter_map(dataset_in) {
                reserve::push(&mut rest, (input, false))?;
            }
        }
        let (name, _) =
            self.names.get(&root.address()).ok_or_else(|| internal("a dataset without a node"))?;
        Ok(name.clone())
    }

    fn add_made(&mut self, maker: &Maker) -> Result<String> {
        let mut inputs = reserve::with_capacity(maker.inputs.len())?;
        for t in &maker.inputs {
            let known =
                dataset_in(t).and_then(|d| self.names.get(&d.address()).map(|(name, _)| name.clone()));
            inputs.push(match known {
                Some(name) => name,
                None => {
                    let name = self.fresh("Const");
                    let attrs = [("dtype", t.dtype().into()), ("value", t.clone().into())];
                    self.node(name, "Const", Vec::new(), &attrs)?
                }
            });
        }
        let name = self.fresh(maker.op);
        let mut attrs = maker.attrs.clone();
        // Names a node of the graph that it was in.
        attrs.remove("_class");
        let node = GraphNode { name: name.clone(), op: maker.op, inputs, attrs };
        reserve::push(&mut self.nodes, node)?;
        Ok(name)
    }

    /// A name in TensorFlow's form.
    fn fresh(&self, op: &str) -> String {
        format!("{op}/_{}", self.nodes.len())
    }

    fn node(
        &mut self,
        name: String,
        op: &'static str,
        inputs: Vec<String>,
        attrs: &[(&'static str, Attr)],
    ) -> Result<String> {
        let attrs = Attrs::of_map(attrs.iter().map(|(n, a)| (*n, a.clone())));
        reserve::push(&mut self.nodes, GraphNode { name: name.clone(), op, inputs, attrs })?;
        Ok(name)
    }
}

/// The dataset in a tensor, if it holds one that other tensors may hold too.
fn dataset_in(t: &Tensor) -> Option<DatasetRef> {
    if t.dtype() == DataType::Variant && t.rank() == 0 { dataset_of(t).ok() } else { None }
}

fn text_of(t: &Tensor) -> Result<bytes::Bytes> {
    match (t.rank(), t.strings()?) {
        (0, [one]) => Ok(one.clone()),
        _ => Err(invalid!("graph_def must be a scalar, got shape {}", t.shape())),
    }
}

struct FromGraph;

fn prepare_from_graph(_: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    Ok(Arc::new(FromGraph))
}

impl AsyncKernel for FromGraph {
    fn start(&self, call: AsyncCall, done: Done) {
        let graph = match call.tensor(0).and_then(|t| text_of(&t)) {
            Ok(graph) => graph,
            Err(e) => return done(Err(e)),
        };
        let Some(runner) = &call.step.functions else {
            return done(Err(unimplemented("no function library to read a dataset's graph with")));
        };
        let given = Box::new(move |results: Result<Vec<Tensor>>| {
            done(results.and_then(|results| match &results[..] {
                [one] => dataset_of(one).map(|_| outputs([one.clone()])),
                _ => Err(internal("a graph of a dataset has one result")),
            }))
        });
        runner.run_graph_def(&graph, &call.step, given);
    }
}
