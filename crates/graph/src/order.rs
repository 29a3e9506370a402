//! Topological order, ignoring loops' back edges.

use crate::graph::Graph;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::NodeId;
use thalweg_core::op::Class;

/// All nodes from index `from` on, inputs first. Edges out of a NextIteration are a loop's back edges and are ignored.
/// A cycle without one is an error that names its nodes.
pub fn topological_order(graph: &Graph, from: usize) -> Result<Vec<NodeId>> {
    let count = graph.len() - from;
    let mut pending = vec![0u32; count];
    let mut heads = vec![u32::MAX; count];
    // Edges as linked lists in flat arrays: (destination, next edge of the same source).
    let mut edges: Vec<(u32, u32)> = Vec::new();
    for at in from..graph.len() {
        let node = &graph.nodes()[at];
        for before in node.inputs.iter().map(|o| o.node).chain(node.control.iter().copied()) {
            if before.at() < from || graph.node(before).op.class == Class::NextIteration {
                continue;
            }
            pending[at - from] += 1;
            let source = before.at() - from;
            edges.push((at as u32, heads[source]));
            heads[source] = edges.len() as u32 - 1;
        }
    }
    let mut order: Vec<NodeId> = Vec::with_capacity(count);
    // Nodes are mostly in order already: a sweep with a stack of ready nodes keeps the given order where it can.
    let mut ready: Vec<u32> = Vec::new();
    let mut done = vec![false; count];
    for start in 0..count {
        if pending[start] == 0 && !done[start] {
            ready.push(start as u32);
        }
        while let Some(at) = ready.pop() {
            if std::mem::replace(&mut done[at as usize], true) {
                continue;
            }
            order.push(NodeId(at + from as u32));
            let mut edge = heads[at as usize];
            while let Some((to, next)) = edges.get(edge as usize).copied() {
                let to = to as usize - from;
                pending[to] -= 1;
                if pending[to] == 0 && to < start {
                    ready.push(to as u32);
                }
                edge = next;
            }
        }
    }
    if order.len() == count { Ok(order) } else { Err(cycle_error(graph, from, &done)) }
}

/// Names the nodes of one cycle.
fn cycle_error(graph: &Graph, from: usize, done: &[bool]) -> thalweg_core::error::Error {
    let stuck = |id: NodeId| id.at() >= from && !done[id.at() - from];
    let before = |id: NodeId| {
        let node = graph.node(id);
        let not_back = |b: &NodeId| graph.node(*b).op.class != Class::NextIteration;
        node.inputs
            .iter()
            .map(|o| o.node)
            .chain(node.control.iter().copied())
            .filter(not_back)
            .find(|b| stuck(*b))
    };
    let Some(first) = done.iter().position(|d| !d) else { return invalid!("the graph has a cycle") };
    let mut seen = std::collections::HashMap::new();
    let mut path = Vec::new();
    let mut at = NodeId((first + from) as u32);
    loop {
        if let Some(start) = seen.insert(at, path.len()) {
            let mut names: Vec<&str> =
                path[start..].iter().rev().map(|id: &NodeId| &*graph.node(*id).name).collect();
            names.truncate(10);
            return invalid!("the graph has a cycle that no loop closes: {}", names.join(" -> "))
                .at_node(&graph.node(at).name, graph.node(at).op.name);
        }
        path.push(at);
        match before(at) {
            Some(b) => at = b,
            None => return invalid!("the graph has a cycle"),
        }
    }
}
