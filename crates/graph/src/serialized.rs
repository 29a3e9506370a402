//! Graphs that kernels write and read: a dataset as a serialised GraphDef, and back.

use crate::function::Library;
use crate::graph::PRODUCER;
use crate::{Graph, NodeSpec, Output};
use std::collections::HashMap;
use std::sync::Arc;
use thalweg_core::attr::Attr;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::registry::Registry;
use thalweg_core::reserve;
use thalweg_core::step::{GraphNode, Names, SerializedGraph};
use thalweg_io::message;
use thalweg_proto::{GraphDef, NodeDef, VersionDef, encode};

/// Marks the output of a graph.
const RETVAL: &str = "_Retval";

/// A GraphDef of these nodes, and of the functions that they use.
pub fn serialize(
    registry: &Registry,
    library: &Library,
    nodes: Vec<GraphNode>,
    names: Names,
) -> Result<SerializedGraph> {
    let spec = |n: GraphNode| NodeSpec {
        name: n.name,
        op: n.op.into(),
        inputs: n.inputs,
        device: String::new(),
        attrs: n.attrs,
    };
    let mut specs: Vec<NodeSpec> = nodes.into_iter().map(spec).collect();
    let mut used = library.used_by(&specs);
    if names == Names::Canonical {
        (specs, used) = renamed(specs, &used)?;
    }
    let graph = GraphDef {
        node: specs.iter().map(NodeSpec::to_proto).collect::<Result<_>>()?,
        versions: Some(VersionDef { producer: PRODUCER, ..Default::default() }),
        library: Some(used.to_proto()?),
        ..Default::default()
    };
    let is_stateful = |op: &str| registry.get(op).is_some_and(|op| op.stateful);
    let ops = used.iter().flat_map(|f| &f.nodes).map(|n| &n.op);
    let stateful = ops.filter(|op| is_stateful(op)).cloned().collect();
    Ok(SerializedGraph { graph_def: encode(&graph), stateful })
}

/// Nodes and functions with the functions named by number, in the order in which they are used.
fn renamed(mut specs: Vec<NodeSpec>, library: &Library) -> Result<(Vec<NodeSpec>, Library)> {
    let order = library.in_order_of_use(&specs);
    let names: HashMap<&str, String> =
        order.iter().zip(0..).map(|(name, i)| (*name, format!("f{i}"))).collect();
    specs.iter_mut().for_each(|spec| rename(spec, &names));
    let mut all = Library::default();
    for name in &order {
        let mut f = (**library.find(name)?).clone();
        f.name = names.get(name).cloned().unwrap_or_default();
        f.nodes.iter_mut().for_each(|spec| rename(spec, &names));
        all.add(f)?;
    }
    Ok((specs, all))
}

fn rename(spec: &mut NodeSpec, names: &HashMap<&str, String>) {
    if let Some(name) = names.get(spec.op.as_str()) {
        spec.op.clone_from(name);
    }
    spec.attrs.remove("metadata");
    for (_, attr) in spec.attrs.iter_mut() {
        let items =
            if let Attr::List(items) = attr { items.as_mut_slice() } else { std::slice::from_mut(attr) };
        for item in items {
            if let Attr::Func(f) = item
                && let Some(name) = names.get(f.name.as_str())
            {
                f.name.clone_from(name);
            }
        }
    }
}

/// A graph that was serialised, and the input of its `_Retval`.
pub fn deserialize(registry: &Arc<Registry>, graph_def: &[u8]) -> Result<(Graph, Output)> {
    let def = message::decode::<GraphDef>(reserve::copied(graph_def)?)?;
    let mut def = def.map_err(|e| invalid!("not a GraphDef: {e}"))?;
    let returned: Vec<NodeDef> = def.node.extract_if(.., |n| n.op == RETVAL).collect();
    let [NodeDef { input, .. }] = &returned[..] else {
        return Err(invalid!("a graph of a dataset has one {RETVAL} node, got {}", returned.len()));
    };
    let [tensor] = &input[..] else {
        return Err(invalid!("{RETVAL} has one input, got {}", input.len()));
    };
    let graph = Graph::from_def(registry.clone(), &def)?;
    let output = graph.output(tensor)?;
    Ok((graph, output))
}
