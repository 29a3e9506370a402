//! Traced steps: the time and memory of each node.

use std::collections::BTreeMap;
use thalweg_client::{DataType, Result, Scope, Session, SessionOptions, feed};
use thalweg_proto::NodeExecStats;

#[test]
fn a_trace_tells_which_nodes_allocated_their_outputs() -> Result<()> {
    let g = Scope::new();
    let x = g.placeholder_named("x", DataType::Float, Some(&[-1, 8]));
    let product = g.op("MatMul").name("product").input(&x).input(&x).attr("transpose_b", true).output();
    let shaped = g.op("Reshape").name("shaped").input(&product).input(g.constant([-1])).output();
    let sum = g.op("Sum").name("sum").input(&shaped).input(g.constant([0])).output();
    let session = Session::with_options(&g, SessionOptions { optimise: false, ..Default::default() })?;
    let ones = thalweg_client::Tensor::full(thalweg_client::Shape::new(&[16, 8])?, 1f32)?;
    let (found, metadata) = session.trace(&sum, &[feed(&x, &ones)])?;
    assert_eq!(found.to_scalar::<f32>()?, 2048.0);
    let stats: BTreeMap<String, NodeExecStats> = (metadata.step_stats.into_iter())
        .flat_map(|s| s.dev_stats)
        .flat_map(|d| d.node_stats)
        .map(|n| (n.node_name.clone(), n))
        .collect();
    let bytes = |name: &str| stats[name].memory.iter().map(|m| m.total_bytes).sum::<i64>();
    assert_eq!(bytes("product"), 16 * 16 * 4);
    assert_eq!(bytes("shaped"), 0, "a reshaped tensor has the memory of the one before");
    let output = stats["shaped"].output[0].tensor_description.as_ref().unwrap();
    assert_eq!(output.shape.as_ref().unwrap().dim[0].size, 256);
    assert_eq!(stats["product"].timeline_label, "product = MatMul(x, x)");
    Ok(())
}

#[test]
fn the_graph_of_a_session_has_devices_and_shapes() -> Result<()> {
    let g = Scope::new();
    let sum = g.add(g.constant([1f32, 2.0]), g.constant(1f32));
    let session = Session::new(&g)?;
    let def = session.to_graph_def()?;
    let device = &session.devices()?[0];
    assert!(def.node.iter().all(|n| n.device == *device && n.attr.contains_key("_output_shapes")));
    assert!(def.node.iter().any(|n| format!("{}:0", n.name) == sum.name()));
    Ok(())
}
