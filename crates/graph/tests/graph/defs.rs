//! GraphDefs in and out.

use crate::{add, constant, graph, parsed, partial, placeholder, read};
use thalweg_core::attr::Attr;
use thalweg_core::dtype::DataType;
use thalweg_core::tensor::Tensor;
use thalweg_graph::{ExportOptions, NodeRequest};
use thalweg_proto::GraphDef;

/// A graph of two outputs of one node, a control input, a device and a function.
fn sample() -> GraphDef {
    let mut g = graph();
    let x = placeholder(&mut g, DataType::Float, partial(&[-1, 4]));
    let axis = constant(&mut g, Tensor::scalar(1i32));
    let split = add(&mut g, "Split", vec![axis.into(), x.into()], &[("num_split", Attr::Int(2))]);
    let before = g.add_node(NodeRequest { op: "NoOp", ..Default::default() }).unwrap();
    let second = split.node.output(1);
    g.add_node(NodeRequest {
        op: "Neg",
        name: "scope/neg",
        args: vec![second.into()],
        control: &[before],
        device: "/device:CPU:0",
        ..Default::default()
    })
    .unwrap();
    g.to_def(ExportOptions::default()).unwrap()
}

#[test]
fn a_graph_written_and_read_is_the_same() {
    let def = sample();
    let neg = def.node.iter().find(|n| n.name == "scope/neg").unwrap();
    assert_eq!(
        (neg.input.as_slice(), neg.device.as_str()),
        (["Split:1".into(), "^NoOp".into()].as_slice(), "/device:CPU:0")
    );
    let g = read(&def).unwrap();
    assert_eq!(g.to_def(ExportOptions::default()).unwrap(), def);
    // Shapes are inferred again, not read.
    assert_eq!(g.shape(g.output("scope/neg").unwrap()), partial(&[-1, 2]));
    // Nodes may come in any order.
    let mut turned = def.clone();
    turned.node.reverse();
    let g = read(&turned).unwrap();
    assert_eq!(g.shape(g.output("scope/neg").unwrap()), partial(&[-1, 2]));
    assert_eq!(g.to_def(ExportOptions::default()).unwrap(), turned);
}

#[test]
fn defaults_are_stripped_and_come_back() {
    let g = read(&sample()).unwrap();
    let stripped = g.to_def(ExportOptions { strip_defaults: true, output_shapes: true }).unwrap();
    let node = |def: &GraphDef, name: &str| def.node.iter().find(|n| n.name == name).unwrap().clone();
    let neg = node(&stripped, "scope/neg");
    assert!(neg.attr.contains_key("_output_shapes") && neg.attr.contains_key("T"));
    let def = parsed(
        "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
         node { name: 'm' op: 'MatMul' input: 'x' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }",
    );
    let full = read(&def).unwrap().to_def(ExportOptions::default()).unwrap();
    assert!(node(&full, "m").attr.contains_key("transpose_a"));
    let stripped =
        read(&full).unwrap().to_def(ExportOptions { strip_defaults: true, ..Default::default() }).unwrap();
    assert!(!node(&stripped, "m").attr.contains_key("transpose_a"));
    assert_eq!(read(&stripped).unwrap().to_def(ExportOptions::default()).unwrap(), full);
}

/// Unknown nodes are kept as written, and fail only when used.
#[test]
fn unknown_ops_are_kept_as_written() {
    let def = parsed(
        "node { name: 'a' op: 'NoSuchOp' attr { key: 'k' value { i: 3 } } }
         node { name: 'b' op: 'NoOp' input: '^a' }
         node { name: 'c' op: 'NoOp' }",
    );
    let g = read(&def).unwrap();
    assert_eq!(g.nodes().len(), 1);
    let out = g.to_def(ExportOptions::default()).unwrap();
    assert_eq!(out.node.iter().map(|n| n.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(out.node[0], def.node[0]);
    let e = g.get("b").unwrap_err();
    assert!(e.message().contains("NoSuchOp"), "{e}");
}

#[test]
fn a_failed_import_leaves_the_graph_as_it_was() {
    let mut g = read(&sample()).unwrap();
    let before = g.to_def(ExportOptions::default()).unwrap();
    for bad in [
        "node { name: 'ok' op: 'NoOp' } node { name: 'ok' op: 'NoOp' }",
        "node { name: 'ok' op: 'NoOp' } node { name: 'late' op: 'NoOp' input: '^nowhere' }",
        "node { name: 'n' op: 'Neg' input: 'Split:2' attr { key: 'T' value { type: DT_FLOAT } } }",
        "node { name: 'n' op: 'Neg' input: 'Split' attr { key: 'T' value { type: DT_INT32 } } }",
        "node { name: 'n' op: 'NoOp' input: '^NoOp' input: 'Split' }",
        "versions { min_consumer: 100000 }",
    ] {
        assert!(g.import(&parsed(bad)).is_err(), "{bad}");
        assert_eq!(g.to_def(ExportOptions::default()).unwrap(), before, "{bad}");
    }
    g.import(&parsed("node { name: 'ok' op: 'NoOp' input: '^NoOp' }")).unwrap();
    assert_eq!(g.len(), before.node.len() + 1);
}
