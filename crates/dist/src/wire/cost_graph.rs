//! The costs of a step's nodes as a CostGraphDef.

use std::collections::HashMap;
use thalweg_core::node::Output;
use thalweg_graph::Graph;
use thalweg_io::wire::partial_shape_to_proto;
use thalweg_proto::cost_graph_def::Node;
use thalweg_proto::cost_graph_def::node::{InputInfo, OutputInfo};
use thalweg_proto::{CostGraphDef, NodeExecStats, StepStats};

/// A size that is not known.
const UNKNOWN: i64 = -1;

/// The nodes that ran, with the time that they took. Inputs are numbers of other nodes among them.
pub fn cost_graph(stats: &StepStats, graph: &Graph) -> CostGraphDef {
    let ran = || stats.dev_stats.iter().flat_map(|d| d.node_stats.iter().map(|n| (d.device.as_str(), n)));
    let ids: HashMap<&str, i32> = ran().zip(0..).map(|((_, n), id)| (n.node_name.as_str(), id)).collect();
    let node = ran().zip(0..).map(|((device, n), id)| cost(device, n, id, graph, &ids)).collect();
    CostGraphDef { node, ..Default::default() }
}

fn cost(device: &str, n: &NodeExecStats, id: i32, graph: &Graph, ids: &HashMap<&str, i32>) -> Node {
    let mut cost = Node {
        name: n.node_name.clone(),
        device: device.into(),
        id,
        compute_cost: n.op_end_rel_micros,
        ..Default::default()
    };
    // Nodes that a pass made are not in the graph.
    let Some(found) = graph.find(&n.node_name) else { return cost };
    let node = graph.node(found);
    for input in &node.inputs {
        if let Some(id) = ids.get(&*graph.node(input.node).name) {
            cost.input_info.push(InputInfo { preceding_node: *id, preceding_port: input.index as i32 });
        }
    }
    let control = node.control.iter().filter_map(|c| ids.get(&*graph.node(*c).name));
    cost.control_input = control.copied().collect();
    cost.output_info = (0..node.outputs.len() as u32).map(|i| output(graph, found.output(i))).collect();
    cost
}

fn output(graph: &Graph, o: Output) -> OutputInfo {
    let (shape, dtype) = (graph.shape(o), graph.dtype(o));
    let elements = shape
        .dims()
        .and_then(|dims| dims.iter().try_fold(1i64, |n, d| if *d < 0 { None } else { n.checked_mul(*d) }));
    let size = elements.and_then(|n| n.checked_mul(dtype.size() as i64)).unwrap_or(UNKNOWN);
    OutputInfo {
        size,
        alias_input_port: -1,
        shape: Some(partial_shape_to_proto(&shape)),
        dtype: dtype.wire(),
    }
}
