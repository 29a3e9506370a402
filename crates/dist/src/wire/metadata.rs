//! Step statistics as RunMetadata.

use super::graph_def::node_def;
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::step::TracedOutput;
use thalweg_graph::Graph;
use thalweg_io::wire::{shape_from_proto, shape_to_proto};
use thalweg_proto::{
    AllocationDescription, AllocatorMemoryUsed, DeviceStepStats, GraphDef, NodeExecStats, NodeOutput,
    RunMetadata as RunMetadataProto, StepStats, TensorDescription,
};
use thalweg_runtime::trace::{NodeTiming, StepTimings};
use thalweg_runtime::{Callable, RunMetadata, Session};

/// The allocator that step statistics name.
const ALLOCATOR: &str = "cpu";

/// RunMetadata of a step's timings; empty if it was not traced.
pub fn to_proto(metadata: &RunMetadata, session: &Session) -> RunMetadataProto {
    if metadata.timings.start_micros == 0 {
        return RunMetadataProto::default();
    }
    let stats = session.with_graph(|graph| step_stats(&metadata.timings, &|t| label(t, graph)));
    RunMetadataProto { step_stats: Some(stats), ..Default::default() }
}

/// The node timings of a step, by device.
pub fn step_stats(timings: &StepTimings, label: &dyn Fn(&NodeTiming) -> String) -> StepStats {
    let mut devices: BTreeMap<&str, DeviceStepStats> = BTreeMap::new();
    for timing in &timings.nodes {
        let stats = devices.entry(&timing.device).or_default();
        stats.device = timing.device.to_string();
        stats.node_stats.push(node_stats(timings.start_micros, timing, label(timing)));
        let thread = timing.thread as u32;
        stats.thread_names.entry(thread).or_insert_with(|| format!("thread {thread}"));
    }
    StepStats { dev_stats: devices.into_values().collect() }
}

/// The node timings of another task. Times are since 1970, by its clock.
pub fn timings(stats: StepStats) -> Vec<NodeTiming> {
    let mut all = Vec::new();
    for device in stats.dev_stats {
        let name: Arc<str> = device.device.into();
        for node in device.node_stats {
            // `w/read = Identity(w)`.
            let op =
                node.timeline_label.split_once(" = ").and_then(|l| l.1.split_once('(')).map_or("", |l| l.0);
            let start = match node.all_start_nanos {
                0 => node.all_start_micros.saturating_mul(1000),
                nanos => nanos,
            };
            let took = match node.all_end_rel_nanos {
                0 => node.all_end_rel_micros.saturating_mul(1000),
                nanos => nanos,
            };
            all.push(NodeTiming {
                device: name.clone(),
                op: op.to_string().into(),
                node: node.node_name.into(),
                start_nanos: start.max(0) as u64,
                end_nanos: start.saturating_add(took).max(0) as u64,
                thread: node.thread_id.into(),
                outputs: outputs(node.output),
            });
        }
    }
    all
}

/// The partition graphs of a callable, by device.
pub fn partition_graphs(callable: &Callable) -> Result<Vec<GraphDef>> {
    let graphs = callable.partition_graphs()?;
    graphs
        .iter()
        .map(|g| {
            Ok(GraphDef { node: g.nodes.iter().map(node_def).collect::<Result<_>>()?, ..Default::default() })
        })
        .collect()
}

/// The outputs of a node. The allocator's total is the sum of those that the node allocated.
fn node_output(o: &TracedOutput) -> NodeOutput {
    let allocated = AllocationDescription {
        requested_bytes: o.bytes as i64,
        allocated_bytes: if o.allocated { o.bytes as i64 } else { 0 },
        allocator_name: ALLOCATOR.into(),
        has_single_reference: o.allocated,
        ..Default::default()
    };
    let tensor = TensorDescription {
        dtype: o.dtype.wire(),
        shape: Some(shape_to_proto(&o.shape)),
        allocation_description: Some(allocated),
    };
    NodeOutput { slot: o.slot as i32, tensor_description: Some(tensor) }
}

/// The outputs that another task tells.
fn outputs(told: Vec<NodeOutput>) -> Vec<TracedOutput> {
    let output = |o: NodeOutput| {
        let tensor = o.tensor_description?;
        let memory = tensor.allocation_description.unwrap_or_default();
        Some(TracedOutput {
            slot: usize::try_from(o.slot).ok()?,
            dtype: DataType::from_wire(tensor.dtype)?,
            shape: shape_from_proto(tensor.shape.as_ref()).ok()?,
            bytes: usize::try_from(memory.requested_bytes).ok()?,
            allocated: memory.allocated_bytes > 0,
        })
    };
    told.into_iter().filter_map(output).collect()
}

fn node_stats(step_start_micros: u64, t: &NodeTiming, label: String) -> NodeExecStats {
    let took = t.end_nanos.saturating_sub(t.start_nanos) as i64;
    let start_nanos = step_start_micros.saturating_mul(1000).saturating_add(t.start_nanos) as i64;
    // Clients draw nothing for a node without duration.
    let micros = (took / 1000).max(1);
    let allocated: usize = t.outputs.iter().filter(|o| o.allocated).map(|o| o.bytes).sum();
    let allocated = i64::try_from(allocated).unwrap_or(i64::MAX);
    let memory = AllocatorMemoryUsed {
        allocator_name: ALLOCATOR.into(),
        total_bytes: allocated,
        peak_bytes: allocated,
        live_bytes: allocated,
        ..Default::default()
    };
    NodeExecStats {
        node_name: t.node.to_string(),
        timeline_label: label,
        thread_id: t.thread as u32,
        memory: if allocated > 0 { vec![memory] } else { vec![] },
        output: t.outputs.iter().map(node_output).collect(),
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

/// The label of a node with unknown inputs.
pub fn short_label(t: &NodeTiming) -> String {
    format!("{} = {}()", t.node, t.op)
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

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::shape::Shape;

    fn timing(start_nanos: u64, end_nanos: u64) -> NodeTiming {
        let device = "/job:a/replica:0/task:0/device:CPU:0".into();
        NodeTiming {
            device,
            node: "y".into(),
            op: "AddV2".into(),
            start_nanos,
            end_nanos,
            thread: 9,
            outputs: vec![],
        }
    }

    #[test]
    fn a_node_tells_its_times_in_both_units() {
        let nodes = vec![timing(5_000_700, 5_008_800), timing(5_000_000, 5_000_999)];
        let stats = step_stats(&StepTimings { start_micros: 2_000_000, nodes }, &short_label);
        let [device] = &stats.dev_stats[..] else { panic!("one device") };
        assert_eq!(device.thread_names.get(&9).map(String::as_str), Some("thread 9"));
        let [long, short] = &device.node_stats[..] else { panic!("two nodes") };
        let want = NodeExecStats {
            node_name: "y".into(),
            timeline_label: "y = AddV2()".into(),
            thread_id: 9,
            all_start_micros: 2_005_000,
            op_end_rel_micros: 8,
            all_end_rel_micros: 8,
            scheduled_micros: 2_005_000,
            all_start_nanos: 2_005_000_700,
            op_end_rel_nanos: 8_100,
            all_end_rel_nanos: 8_100,
            scheduled_nanos: 2_005_000_700,
            ..Default::default()
        };
        assert_eq!(*long, want);
        assert_eq!((short.all_end_rel_micros, short.all_end_rel_nanos), (1, 999));
    }

    /// Some tasks send microseconds only.
    #[test]
    fn what_another_task_tells_is_read_as_it_was_told() {
        let shape = Shape::new(&[2, 3]).unwrap();
        let output = |slot, allocated| TracedOutput {
            slot,
            dtype: DataType::Float,
            shape: shape.clone(),
            bytes: 24,
            allocated,
        };
        let nodes =
            vec![NodeTiming { outputs: vec![output(0, true), output(2, false)], ..timing(700, 8_800) }];
        let stats = step_stats(&StepTimings { start_micros: 2, nodes }, &short_label);
        let [read] = &timings(stats.clone())[..] else { panic!("one node") };
        assert_eq!((&*read.device, &*read.node, &*read.op), (&*timing(0, 0).device, "y", "AddV2"));
        assert_eq!((read.start_nanos, read.end_nanos, read.thread), (2_700, 10_800, 9));
        assert_eq!(read.outputs, [output(0, true), output(2, false)]);
        // Of the two, one is new memory.
        assert_eq!(stats.dev_stats[0].node_stats[0].memory[0].total_bytes, 24);
        let mut coarse = stats;
        let node = &mut coarse.dev_stats[0].node_stats[0];
        (node.all_start_nanos, node.all_end_rel_nanos, node.timeline_label) = (0, 0, "y".into());
        let [read] = &timings(coarse)[..] else { panic!("one node") };
        assert_eq!((read.start_nanos, read.end_nanos, &*read.op), (2_000, 10_000, ""));
    }
}
