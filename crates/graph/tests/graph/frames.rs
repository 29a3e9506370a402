//! Orders of nodes, and the frames that they run in.

use crate::{parsed, read};
use thalweg_core::error::Result;
use thalweg_core::op::Class;
use thalweg_graph::frames::Frames;
use thalweg_graph::{Graph, topological_order};

/// A loop `name` that `from` enters, of float; and what leaves it, `name/exit`.
fn while_loop(name: &str, from: &str) -> String {
    let float = "attr { key: 'T' value { type: DT_FLOAT } }";
    let node = |suffix: &str, op: &str, inputs: &[&str], attrs: &str| {
        let inputs: String = inputs.iter().map(|i| format!("input: '{i}' ")).collect();
        format!("node {{ name: '{name}/{suffix}' op: '{op}' {inputs} {attrs} }}\n")
    };
    let at = |suffix: &str| format!("{name}/{suffix}");
    let frame = format!("{float} attr {{ key: 'frame_name' value {{ s: '{name}' }} }}");
    [
        node("enter", "Enter", &[from], &frame),
        node(
            "merge",
            "Merge",
            &[&at("enter"), &at("next")],
            &format!("{float} attr {{ key: 'N' value {{ i: 2 }} }}"),
        ),
        node("limit", "Less", &[&at("merge"), &at("merge")], float),
        node("cond", "LoopCond", &[&at("limit")], ""),
        node("switch", "Switch", &[&at("merge"), &at("cond")], float),
        node("body", "Neg", &[&at("switch:1")], float),
        node("next", "NextIteration", &[&at("body")], float),
        node("exit", "Exit", &[&at("switch")], float),
    ]
    .concat()
}

const X: &str = "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'start' op: 'Neg' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }\n";

fn frames(g: &Graph) -> Result<Frames> {
    Frames::find(g.nodes(), &topological_order(g, 0)?)
}

fn frame_of(g: &Graph, f: &Frames, node: &str) -> String {
    f.frames[f.of[g.get(node).unwrap().at()] as usize].name.clone()
}

#[test]
fn inputs_come_first_but_for_back_edges() {
    let g = read(&parsed(&format!("{}{X}", while_loop("a", "start")))).unwrap();
    let order = topological_order(&g, 0).unwrap();
    let at: Vec<usize> = g.ids().map(|id| order.iter().position(|o| *o == id).unwrap()).collect();
    for id in g.ids() {
        for o in g.node(id).inputs.iter().filter(|o| g.node(o.node).op.class != Class::NextIteration) {
            assert!(at[o.node.at()] < at[id.at()], "{} before {}", g.node(o.node).name, g.node(id).name);
        }
    }
}

#[test]
fn cycles_without_a_loop_are_named() {
    let neg = |name: &str, input: &str| {
        format!(
            "node {{ name: '{name}' op: 'Neg' input: '{input}' attr {{ key: 'T' value {{ type: DT_FLOAT }} }} }}"
        )
    };
    let e = read(&parsed(&[neg("a", "b"), neg("b", "a")].concat())).err().unwrap();
    assert!(e.message().contains("a -> b") || e.message().contains("b -> a"), "{e}");
}

#[test]
fn nodes_are_in_the_frames_of_their_loops() {
    let g = read(&parsed(&[X, &while_loop("a", "start"), &while_loop("b", "a/body")].concat())).unwrap();
    let f = frames(&g).unwrap();
    assert_eq!(f.frames.len(), 3);
    let found: Vec<String> = ["start", "a/enter", "a/body", "b/enter", "b/body", "b/exit", "a/exit"]
        .map(|n| frame_of(&g, &f, n))
        .into();
    assert_eq!(found, ["", "", "a", "a", "b", "b", "a"]);
    // The outputs of an Enter are in the loop, those of an Exit around it.
    let entered = |n: &str| f.frames[f.entered[g.get(n).unwrap().at()] as usize].name.clone();
    assert_eq!([entered("b/enter"), entered("b/exit"), entered("a/exit")], ["b", "a", ""]);
    assert_eq!(f.frames[2].parent, 1);
}

#[test]
fn loops_that_do_not_nest_are_refused() {
    let add = "node { name: 'bad' op: 'AddV2' input: 'a/body' input: 'start' attr { key: 'T' value { type: DT_FLOAT } } }";
    let g = read(&parsed(&[X, &while_loop("a", "start"), add].concat())).unwrap();
    let e = frames(&g).err().unwrap();
    assert_eq!((e.node(), e.message().contains("different loops")), (Some("bad"), true), "{e}");
    let exit = "node { name: 'out' op: 'Exit' input: 'start' attr { key: 'T' value { type: DT_FLOAT } } }";
    let e = frames(&read(&parsed(&[X, exit].concat())).unwrap()).err().unwrap();
    assert_eq!(e.node(), Some("out"), "{e}");
}
