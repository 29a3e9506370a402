//! Parsers that are ops: strings in tensors.

use crate::graphs::registry;
use std::sync::OnceLock;
use thalweg_core::tensor::Tensor;
use thalweg_graph::Graph;
use thalweg_proto::text;
use thalweg_runtime::{Session, SessionOptions};

const INPUT: &str = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_STRING } } }";

/// A session whose node `y` parses what is fed.
fn session(nodes: &str) -> Option<Session> {
    let def = text::parse_graph_def(&format!("{INPUT}{nodes}")).ok()?;
    let graph = Graph::from_def(registry().clone(), &def).ok()?;
    Session::of(&graph, SessionOptions { threads: 1, ..Default::default() }).ok()
}

fn parse(held: &'static OnceLock<Session>, nodes: &str, bytes: &[u8]) {
    let session = held.get_or_init(|| session(nodes).expect("the graph of a fuzz target is good"));
    let _ = session.run(&[("x:0", Tensor::string(bytes))], &["y:0"], &[]);
}

pub fn png(bytes: &[u8]) {
    static SESSION: OnceLock<Session> = OnceLock::new();
    parse(&SESSION, "node { name: 'y' op: 'DecodePng' input: 'x' }", bytes);
}

pub fn csv(bytes: &[u8]) {
    static SESSION: OnceLock<Session> = OnceLock::new();
    let defaults: String = ["DT_FLOAT", "DT_INT64", "DT_STRING"]
        .iter()
        .enumerate()
        .map(|(i, dtype)| {
            format!(
                "node {{ name: 'd{i}' op: 'Const' attr {{ key: 'dtype' value {{ type: {dtype} }} }}
                 attr {{ key: 'value' value {{ tensor {{ dtype: {dtype} tensor_shape {{ dim {{ size: 0 }} }} }} }} }} }}"
            )
        })
        .collect();
    let node = "node { name: 'y' op: 'DecodeCSV' input: 'x' input: 'd0' input: 'd1' input: 'd2'
        attr { key: 'OUT_TYPE' value { list { type: DT_FLOAT type: DT_INT64 type: DT_STRING } } } }";
    parse(&SESSION, &format!("{defaults}{node}"), bytes);
}

/// An Example with a dense feature of floats, one of strings, and a sparse one of integers.
pub fn example(bytes: &[u8]) {
    static SESSION: OnceLock<Session> = OnceLock::new();
    let empty = |name: &str, dtype: &str| {
        format!(
            "node {{ name: '{name}' op: 'Const' attr {{ key: 'dtype' value {{ type: {dtype} }} }}
             attr {{ key: 'value' value {{ tensor {{ dtype: {dtype} tensor_shape {{ dim {{ size: 0 }} }} }} }} }} }}"
        )
    };
    let node = "node { name: 'y' op: 'ParseSingleExample' input: 'x' input: 'f' input: 's'
        attr { key: 'num_sparse' value { i: 1 } } attr { key: 'sparse_keys' value { list { s: 'i' } } }
        attr { key: 'dense_keys' value { list { s: 'a' s: 'b' } } }
        attr { key: 'sparse_types' value { list { type: DT_INT64 } } }
        attr { key: 'Tdense' value { list { type: DT_FLOAT type: DT_STRING } } }
        attr { key: 'dense_shapes' value { list { shape { dim { size: 2 } } shape { dim { size: 1 } } } } } }";
    parse(&SESSION, &format!("{}{}{node}", empty("f", "DT_FLOAT"), empty("s", "DT_STRING")), bytes);
}
