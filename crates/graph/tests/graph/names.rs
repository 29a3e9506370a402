//! Node names are unique, and can be looked up.

use crate::{graph, parsed, read};
use thalweg_core::error::Code;
use thalweg_graph::{Graph, NodeRequest};

fn named(g: &mut Graph, name: &str) -> String {
    let id = g.add_node(NodeRequest { op: "NoOp", name, ..Default::default() }).unwrap();
    g.node(id).name.to_string()
}

#[test]
fn names_are_made_unique_among_nodes_and_scopes() {
    let mut g = graph();
    let scope = g.unique_name("layer");
    let made: Vec<String> = ["", "", "layer", "layer/w", "LAYER"].iter().map(|n| named(&mut g, n)).collect();
    assert_eq!(scope, "layer");
    assert_eq!(made, ["NoOp", "NoOp_1", "layer_1", "layer/w", "LAYER_2"]);
    // A trailing slash takes the name as it is.
    assert_eq!(named(&mut g, "layer/"), "layer");
}

#[test]
fn names_of_imported_nodes_are_taken() {
    let mut g = read(&parsed("node { name: 'a' op: 'NoOp' } node { name: 'b' op: 'NoSuchOp' }")).unwrap();
    assert_eq!([named(&mut g, "a"), named(&mut g, "b")], ["a_1", "b_1"]);
}

#[test]
fn bad_names_are_refused() {
    let mut g = graph();
    for name in ["a b", "a:0", "^a", "é"] {
        let e = g.add_node(NodeRequest { op: "NoOp", name, ..Default::default() }).unwrap_err();
        assert_eq!(e.code(), Code::InvalidArgument, "{name}");
    }
    assert_eq!(g.len(), 0);
}

#[test]
fn outputs_are_found_by_name() {
    let mut g =
        read(&parsed("node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }"))
            .unwrap();
    let x = g.output("x").unwrap();
    assert_eq!((g.output("x:0").unwrap(), g.tensor_name(x).as_str()), (x, "x:0"));
    for (name, code) in [("x:1", Code::InvalidArgument), ("^x", Code::InvalidArgument), ("y", Code::NotFound)]
    {
        assert_eq!(g.output(name).unwrap_err().code(), code, "{name}");
    }
    named(&mut g, "weights");
    assert!(g.get("weight").unwrap_err().message().contains("weights"), "the error offers a name like it");
}
