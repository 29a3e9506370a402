//! Graphs that kernels write and read: a dataset as a GraphDef, and back.

use super::Functions;
use crate::plan::{KernelCache, Plan};
use std::sync::{Arc, Mutex};
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::registry::Registry;
use thalweg_core::step::{GraphNode, SerializedGraph, StepContext};
use thalweg_graph::function::Library;
use thalweg_graph::{Graph, NodeSpec, PRODUCER};
use thalweg_proto::{GraphDef, Message, NodeDef, VersionDef, decode};

/// Marks the outputs of a graph.
const RETVAL: &str = "_Retval";

/// A GraphDef of these nodes, and of the functions that they use.
pub fn serialize(registry: &Registry, library: &Library, nodes: Vec<GraphNode>) -> Result<SerializedGraph> {
    let specs: Vec<NodeSpec> = nodes
        .into_iter()
        .map(|n| NodeSpec {
            name: n.name,
            op: n.op.into(),
            inputs: n.inputs,
            device: String::new(),
            attrs: n.attrs,
        })
        .collect();
    let used = library.used_by(&specs);
    let graph = GraphDef {
        node: specs.iter().map(NodeSpec::to_proto).collect::<Result<_>>()?,
        versions: Some(VersionDef { producer: PRODUCER, ..Default::default() }),
        library: Some(used.to_proto()?),
        ..Default::default()
    };
    let is_stateful = |op: &str| registry.get(op).is_some_and(|op| op.stateful);
    let stateful = used.iter().flat_map(|f| {
        let nodes = f.nodes.iter().filter(|n| is_stateful(&n.op));
        nodes.map(|n| (f.name.clone(), n.name.clone(), n.op.clone()))
    });
    Ok(SerializedGraph { graph_def: graph.encode_to_vec(), stateful: stateful.collect() })
}

/// The plan of a serialised GraphDef, and the step it runs in: the graph's functions are its own.
pub fn prepare(
    functions: &Functions,
    graph: &[u8],
    step: &Arc<StepContext>,
) -> Result<(Arc<Plan>, Arc<StepContext>)> {
    let mut def: GraphDef = decode(graph.to_vec()).map_err(|e| invalid!("not a GraphDef: {e}"))?;
    let returned: Vec<NodeDef> = def.node.extract_if(.., |n| n.op == RETVAL).collect();
    let [NodeDef { input, .. }] = &returned[..] else {
        return Err(invalid!("a graph of a dataset has one {RETVAL} node, got {}", returned.len()));
    };
    let [tensor] = &input[..] else {
        return Err(invalid!("{RETVAL} has one input, got {}", input.len()));
    };
    let graph = Graph::from_def(functions.registry.clone(), &def)?;
    let fetch = graph.output(tensor)?;
    let own = Functions {
        registry: functions.registry.clone(),
        library: graph.library.clone(),
        kernels: Arc::new(KernelCache::default()),
        optimise: functions.optimise,
        devices: functions.devices.clone(),
        plans: Mutex::default(),
    };
    let own = Arc::new(own);
    let mut inner = StepContext::new(step.step_id, step.device.clone());
    inner.functions = Some(own.clone());
    let inner = Arc::new(inner.within(step));
    let plan = own.plan(&graph, (&[], &[fetch], &[]), &inner)?;
    Ok((plan, inner))
}
