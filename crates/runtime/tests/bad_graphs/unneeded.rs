//! An error in a part of a graph fails the steps that need that part, and no other.

use super::{constant, dtype, parse, session, still_good, with_a};
use thalweg_core::error::{Code, Error};
use thalweg_core::tensor::Tensor;
use thalweg_graph::ExportOptions;
use thalweg_proto::GraphDef;
use thalweg_runtime::Session;

/// A session that accepted a graph with an error in it.
fn with(graph: &str) -> Session {
    let s = session(true);
    s.extend_with(|g| g.import(&parse(graph))).unwrap();
    still_good(&s);
    s
}

fn error_of(s: &Session, target: &str) -> Error {
    s.run(&[], &[], &[target]).expect_err("ran")
}

fn not_registered(e: &Error) {
    assert_eq!(e.code(), Code::NotFound, "{e}");
    assert!(e.message().contains("Op type not registered 'NoSuchOp'"), "{e}");
}

const FLOAT: &str = "attr { key: 'T' value { type: DT_FLOAT } }";

#[test]
fn a_node_of_an_op_that_is_not_there_refused_every_step() {
    let graph = with_a("op: 'NoSuchOp' input: 'a' attr { key: 'x' value { i: 3 } }")
        + &format!("node {{ name: 'after' op: 'Neg' input: 'bad:1' {FLOAT} }}")
        + &format!("node {{ name: 'waits' op: 'Neg' input: 'a' input: '^after' {FLOAT} }}");
    let s = with(&graph);
    s.run(&[], &["a:0"], &[]).unwrap();
    for target in ["bad", "after", "waits"] {
        let e = error_of(&s, target);
        not_registered(&e);
        assert_eq!(e.node(), Some("bad"));
    }
    let fed = s.run(&[("after:0", Tensor::scalar(1f32))], &["a:0"], &[]).unwrap_err();
    not_registered(&fed);
    // Added nodes, too.
    s.extend_with(|g| g.import(&parse(&format!("node {{ name: 'more' op: 'Neg' input: 'after' {FLOAT} }}"))))
        .unwrap();
    not_registered(&error_of(&s, "more"));
    let e = s.extend_with(|g| g.import(&parse("node { name: 'bad' op: 'NoOp' }"))).unwrap_err();
    assert!(e.message().contains("two nodes are named 'bad'"), "{e}");
    still_good(&s);
}

#[test]
fn a_node_of_a_data_type_that_is_not_known_refused_every_step() {
    let s = with(
        "node { name: 'bad' op: 'Placeholder' attr { key: 'dtype' value { type: 99 } } }
         node { name: 'cast' op: 'Cast' input: 'bad' attr { key: 'SrcT' value { type: 99 } }
           attr { key: 'DstT' value { type: DT_FLOAT } } }",
    );
    for target in ["bad", "cast"] {
        let e = error_of(&s, target);
        assert_eq!(e.code(), Code::InvalidArgument, "{e}");
        assert!(e.message().contains("unknown data type number 99"), "{e}");
    }
}

#[test]
fn a_function_with_an_op_that_is_not_there_was_a_puzzle_about_outputs() {
    let body = "function { signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
           node_def { name: 'c' op: 'NoSuchOp' input: 'x' } ret { key: 'y' value: 'c:z:0' } }";
    let call = "attr { key: 'Tin' value { list { type: DT_FLOAT } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } }
           attr { key: 'f' value { func { name: 'f' } } }";
    let by_attr = format!("node {{ name: 'by_attr' op: 'PartitionedCall' input: 'a' {call} }}");
    let s = with(&(format!("library {{ {body} }} {by_attr}") + &with_a("op: 'f' input: 'a'")));
    for target in ["bad", "by_attr"] {
        not_registered(&error_of(&s, target));
    }
}

#[test]
fn a_function_of_a_data_type_that_is_not_known_refused_every_step() {
    let body = "function { signature { name: 'f' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }
           node_def { name: 'c' op: 'Cast' input: 'x' attr { key: 'DstT' value { type: 99 } } } ret { key: 'y' value: 'x' } }";
    let s = with(&(format!("library {{ {body} }}") + &with_a("op: 'f' input: 'a'")));
    let e = error_of(&s, "bad");
    assert!(e.message().contains("unknown data type number 99"), "{e}");
}

/// The shape rule rejects a scalar as the kernel does; the step that runs it gets the kernel's error.
#[test]
fn a_shape_rule_that_fails_refused_every_step() {
    let ids =
        constant("ids", "DT_INT32", "dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 0 int_val: 1");
    let data = constant("data", "DT_FLOAT", "dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 1");
    let segments = format!(
        "node {{ name: 'bad' op: 'SegmentSum' input: 'data' input: 'ids' {FLOAT} {} }}",
        dtype("Tindices", "DT_INT32")
    );
    let s = with(&format!("{ids} {data} {segments} node {{ name: 'after' op: 'Neg' input: 'bad' {FLOAT} }}"));
    for target in ["bad", "after"] {
        let e = error_of(&s, target);
        assert_eq!(e.code(), Code::InvalidArgument, "{e}");
        assert!(e.message().contains("segment_ids should be the same size as dimension 0 of input"), "{e}");
    }
}

#[test]
fn what_was_not_read_is_written_as_it_was() {
    let graph = parse(
        "node { name: 'first' op: 'NoSuchOp' device: '/cpu:0' attr { key: 't' value { type: 99 } } }
         node { name: 'kept' op: 'NoOp' }
         node { name: 'last' op: 'NoOp' input: '^first' }
         library { function { signature { name: 'f' output_arg { name: 'y' type: 99 } }
           ret { key: 'y' value: 'x' } } }",
    );
    let read = thalweg_graph::Graph::from_def(super::registry().clone(), &graph).unwrap();
    assert_eq!(read.len(), 1);
    let written: GraphDef = read.to_def(ExportOptions::default()).unwrap();
    assert_eq!(written.node, graph.node);
    assert_eq!(written.library.unwrap().function, graph.library.unwrap().function);
}
