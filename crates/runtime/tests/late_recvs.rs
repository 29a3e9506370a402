//! How much a device prefetches: a chain of layers whose weights are on another device.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use thalweg_core::attr::Attr;
use thalweg_core::builder::Arg;
use thalweg_core::dtype::DataType;
use thalweg_core::node::Output;
use thalweg_core::shape::PartialShape;
use thalweg_graph::{Graph, NodeRequest, NodeSpec};
use thalweg_runtime::{Session, SessionOptions};

const LAYERS: usize = 12;
/// Square layers, of floats.
const WIDTH: i64 = 2048;
const LAYER: u64 = (WIDTH * WIDTH * 4) as u64;

fn add(
    g: &mut Graph,
    op: &str,
    name: &str,
    device: &str,
    args: Vec<Arg>,
    attrs: &[(&'static str, Attr)],
) -> Output {
    let attrs = attrs.iter().cloned().collect();
    let id = g.add_node(NodeRequest { op, name, args, attrs, ..Default::default() }).unwrap();
    g.node_mut(id).device = device.into();
    id.output(0)
}

/// `h = x w0 w1 ...` on device 1, with the weights on device 0; and, as in backpropagation, in reverse with the same weights.
fn layers(and_back: bool) -> (Graph, String) {
    let mut g = Graph::new(Arc::new(thalweg_ops::registry()));
    let float = || ("dtype", DataType::Float.into());
    let shape = |dims: [i64; 2]| ("shape", Attr::Shape(PartialShape::new(&dims).unwrap()));
    let (ps, worker) = ("/device:CPU:0", "/device:CPU:1");
    let mut h = add(&mut g, "Placeholder", "x", worker, vec![], &[float(), shape([1, WIDTH])]);
    let mut weights = Vec::new();
    for i in 0..LAYERS {
        let attrs = [float(), shape([WIDTH, WIDTH])];
        let v = add(&mut g, "VariableV2", &format!("v{i}"), ps, vec![], &attrs);
        let w = add(&mut g, "Identity", &format!("w{i}"), ps, vec![v.into()], &[]);
        weights.push(w);
        h = add(&mut g, "MatMul", &format!("layer{i}"), worker, vec![h.into(), w.into()], &[]);
    }
    for (i, w) in weights.iter().enumerate().rev().filter(|_| and_back) {
        let args = vec![h.into(), (*w).into()];
        h = add(&mut g, "MatMul", &format!("back{i}"), worker, args, &[("transpose_b", true.into())]);
    }
    let name = g.tensor_name(h);
    (g, name)
}

/// The nodes of the computing device, by name.
fn worker_part(g: &Graph, fetch: &str, receive_ahead: u64) -> BTreeMap<String, NodeSpec> {
    let options = SessionOptions { cpu_devices: 2, receive_ahead, ..Default::default() };
    let session = Session::of(g, options).unwrap();
    let callable = session.callable_by_name(&["x:0"], &[fetch], &[]).unwrap();
    let part =
        callable.partition_graphs().unwrap().into_iter().find(|p| p.device.ends_with("CPU:1")).unwrap();
    part.nodes.into_iter().map(|n| (n.name.clone(), n)).collect()
}

/// For each layer, the control input of its Recv.
fn waits(nodes: &BTreeMap<String, NodeSpec>) -> Vec<Option<usize>> {
    let layer = |name: &str| name.strip_prefix("layer").and_then(|n| n.parse::<usize>().ok());
    let mut waits = HashMap::new();
    for (name, node) in nodes {
        let Some(at) = layer(name) else { continue };
        let recv = nodes.get(&node.inputs[1]).unwrap();
        assert_eq!(recv.op, "_Recv");
        assert!(recv.inputs.len() <= 1, "{:?}", recv.inputs);
        waits.insert(at, recv.inputs.first().map(|i| layer(i.strip_prefix('^').unwrap()).unwrap()));
    }
    (0..LAYERS).map(|i| waits[&i]).collect()
}

/// The maximum of bytes received but not yet used, after any layer.
fn peak(waits: &[Option<usize>]) -> u64 {
    let begun = |done: usize, i: usize| i >= done && waits[i].is_none_or(|w| w < done);
    let unused = |done: usize| (0..LAYERS).filter(|i| begun(done, *i)).count() as u64 * LAYER;
    (0..=LAYERS).map(unused).max().unwrap()
}

#[test]
fn a_long_chain_of_layers_receives_no_more_weights_than_the_limit_ahead() {
    for and_back in [false, true] {
        let (g, fetch) = layers(and_back);
        for ahead in [1, 3, 5] {
            let waits = waits(&worker_part(&g, &fetch, ahead * LAYER));
            // Exactly the limit.
            assert_eq!(peak(&waits), ahead * LAYER, "{waits:?}");
            assert_eq!(waits.iter().filter(|w| w.is_none()).count() as u64, ahead, "{waits:?}");
        }
        // A layer larger than the limit is received when the one before it is done.
        let waits = waits(&worker_part(&g, &fetch, LAYER - 1));
        assert_eq!(peak(&waits), LAYER, "{waits:?}");
    }
}

#[test]
fn what_fits_into_the_limit_is_received_at_once() {
    let (g, fetch) = layers(true);
    let usual = SessionOptions::default().receive_ahead;
    assert!(LAYERS as u64 * LAYER > usual, "or the first assertion below shows nothing");
    assert!(peak(&waits(&worker_part(&g, &fetch, usual))) <= usual);
    assert_eq!(waits(&worker_part(&g, &fetch, LAYERS as u64 * LAYER)), [None; LAYERS]);
}
