//! What a step tells about itself, as RunMetadata.

use std::collections::BTreeMap;
use thalweg_core::error::Result;
use thalweg_graph::convert::attrs_to_proto;
use thalweg_graph::{Graph, NodeSpec};
use thalweg_proto::{
    DeviceStepStats, GraphDef, NodeDef, NodeExecStats, RunMetadata as RunMetadataProto, StepStats,
};
use thalweg_runtime::trace::NodeTiming;
use thalweg_runtime::{Callable, RunMetadata, Session};

/// The messages for a step's timings; empty if it was not traced.
pub fn to_proto(metadata: &RunMetadata, session: &Session) -> RunMetadataProto {
    if metadata.timings.nodes.is_empty() {
        return RunMetadataProto::default();
    }
    let start = metadata.timings.start_micros;
    let mut devices: BTreeMap<&str, DeviceStepStats> = BTreeMap::new();
    session.with_graph(|graph| {
        for timing in &metadata.timings.nodes {
            let stats = devices.entry(&timing.device).or_default();
            stats.device = timing.device.to_string();
            stats.node_stats.push(node_stats(start, timing, graph));
            let thread = timing.thread as u32;
            stats.thread_names.entry(thread).or_insert_with(|| format!("thread {thread}"));
        }
    });
    let dev_stats = devices.into_values().collect();
    RunMetadataProto { step_stats: Some(StepStats { dev_stats }), ..Default::default() }
}

/// The graphs that a callable runs, one for each device.
pub fn partition_graphs(callable: &Callable) -> Result<Vec<GraphDef>> {
    let graphs = callable.partition_graphs()?;
    graphs
        .iter()
        .map(|g| {
            Ok(GraphDef { node: g.nodes.iter().map(node_def).collect::<Result<_>>()?, ..Default::default() })
        })
        .collect()
}

fn node_def(node: &NodeSpec) -> Result<NodeDef> {
    Ok(NodeDef {
        name: node.name.clone(),
        op: node.op.clone(),
        input: node.inputs.clone(),
        device: node.device.clone(),
        attr: attrs_to_proto(&node.attrs)?,
        ..Default::default()
    })
}

fn node_stats(step_start_micros: u64, t: &NodeTiming, graph: &Graph) -> NodeExecStats {
    let took = t.end_nanos.saturating_sub(t.start_nanos) as i64;
    let start_nanos = step_start_micros.saturating_mul(1000).saturating_add(t.start_nanos) as i64;
    // Clients draw nothing for a node that took no time at all.
    let micros = (took / 1000).max(1);
    NodeExecStats {
        node_name: t.node.to_string(),
        timeline_label: label(t, graph),
        thread_id: t.thread as u32,
        all_start_micros: start_nanos / 1000,
        op_end_rel_micros: micros,
        all_end_rel_micros: micros,
        scheduled_micros: start_nanos / 1000,
        all_start_nanos: start_nanos,
        op_end_rel_nanos: took,
        all_end_rel_nanos: took,
        scheduled_nanos: start_nanos,
        ..Default::default()
    }
}

/// `w/read = Identity(w)`, from which clients draw the dataflow.
fn label(t: &NodeTiming, graph: &Graph) -> String {
    let mut inputs = Vec::new();
    if let Some(id) = graph.find(&t.node) {
        let node = graph.node(id);
        inputs.extend(node.inputs.iter().map(|o| match o.index {
            0 => graph.node(o.node).name.to_string(),
            i => format!("{}:{i}", graph.node(o.node).name),
        }));
        inputs.extend(node.control.iter().map(|c| format!("^{}", graph.node(*c).name)));
    }
    format!("{} = {}({})", t.node, t.op, inputs.join(", "))
}
