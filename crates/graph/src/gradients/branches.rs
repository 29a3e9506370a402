//! The branch of a cond that a node is in: it runs only if that is taken.

use crate::graph::Graph;
use std::collections::HashMap;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;

/// Branch 0 is outside of all conds.
#[derive(Default)]
pub struct Branches {
    branches: Vec<Branch>,
    by_key: HashMap<(u32, Output, u32), u32>,
    of: HashMap<NodeId, u32>,
}

#[derive(Clone, Copy)]
pub struct Branch {
    pub parent: u32,
    pub pred: Output,
    /// 1 if `pred` is true.
    pub side: u32,
    depth: u32,
}

impl Branches {
    pub fn find(graph: &Graph, order: &[NodeId]) -> Branches {
        let mut found = Branches::default();
        for id in order {
            let node = graph.node(*id);
            let mut at = 0;
            for o in &node.inputs {
                at = found.deeper(at, found.of_edge(graph, *o));
            }
            for c in &node.control {
                at = found.deeper(at, found.of_node(*c));
            }
            let is_join = node.op.class == Class::Merge
                && !node.inputs.iter().any(|o| graph.node(o.node).op.class == Class::NextIteration);
            if is_join {
                at = found.get(at).map_or(0, |b| b.parent);
            }
            if let Some((pred, false)) = switch(graph, *id) {
                for side in 0..2 {
                    found.enter(at, pred, side);
                }
            }
            if at != 0 {
                found.of.insert(*id, at);
            }
        }
        found
    }

    pub fn get(&self, branch: u32) -> Option<Branch> {
        self.branches.get((branch as usize).checked_sub(1)?).copied()
    }

    pub fn of_node(&self, id: NodeId) -> u32 {
        self.of.get(&id).copied().unwrap_or(0)
    }

    /// The branch in which this value is live.
    pub fn of_output(&self, graph: &Graph, o: Output) -> u32 {
        self.of_edge(graph, o)
    }

    pub fn same_as(&mut self, id: NodeId, branch: u32) {
        if branch != 0 {
            self.of.insert(id, branch);
        }
    }

    fn of_edge(&self, graph: &Graph, o: Output) -> u32 {
        let at = self.of_node(o.node);
        match switch(graph, o.node) {
            Some((pred, false)) => self.by_key.get(&(at, pred, o.index)).copied().unwrap_or(at),
            _ => at,
        }
    }

    fn deeper(&self, a: u32, b: u32) -> u32 {
        let depth = |x: u32| self.get(x).map_or(0, |b| b.depth);
        if depth(b) > depth(a) { b } else { a }
    }

    fn enter(&mut self, parent: u32, pred: Output, side: u32) {
        let depth = self.get(parent).map_or(0, |b| b.depth) + 1;
        let branches = &mut self.branches;
        self.by_key.entry((parent, pred, side)).or_insert_with(|| {
            branches.push(Branch { parent, pred, side, depth });
            branches.len() as u32
        });
    }
}

/// The predicate of a Switch, and whether it is a loop's condition.
fn switch(graph: &Graph, id: NodeId) -> Option<(Output, bool)> {
    let node = graph.node(id);
    if node.op.class != Class::Switch {
        return None;
    }
    let pred = *node.inputs.get(1)?;
    Some((pred, graph.node(pred.node).op.class == Class::LoopCond))
}
