//! What a step tells about itself, as RunMetadata.

use std::collections::BTreeMap;
use thalweg_graph::Graph;
use thalweg_proto::{DeviceStepStats, NodeExecStats, RunMetadata as RunMetadataProto, StepStats};
use thalweg_runtime::RunMetadata;
use thalweg_runtime::trace::NodeTiming;

/// The messages for a step's timings; empty if it was not traced.
pub fn to_proto(metadata: &RunMetadata, graph: &Graph) -> RunMetadataProto {
    let start = metadata.timings.start_micros;
    let mut devices: BTreeMap<&str, DeviceStepStats> = BTreeMap::new();
    for timing in &metadata.timings.nodes {
        let stats = devices.entry(&timing.device).or_default();
        stats.device = timing.device.to_string();
        stats.node_stats.push(node_stats(start, timing, graph));
        let thread = timing.thread as u32;
        stats.thread_names.entry(thread).or_insert_with(|| format!("thread {thread}"));
    }
    let dev_stats: Vec<_> = devices.into_values().collect();
    RunMetadataProto {
        step_stats: (!dev_stats.is_empty()).then_some(StepStats { dev_stats }),
        ..Default::default()
    }
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
