//! Pruning: the nodes of a graph that fetches and targets need, up to the feeds.

use super::{Kind, Work, WorkNode};
use crate::until::Until;
use smallvec::SmallVec;
use std::collections::HashMap;
use thalweg_core::attr::Attrs;
use thalweg_core::error::Result;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::signature::Port;
use thalweg_graph::Graph;

impl Work {
    /// The part of `graph` that these fetches and targets need. Feeds replace the outputs that are fed.
    pub fn prune(
        graph: &Graph,
        device_of: &dyn Fn(NodeId) -> u16,
        feeds: &[Output],
        fetches: &[Output],
        targets: &[NodeId],
        until: &Until,
    ) -> Result<Work> {
        let mut work = Work::empty(graph.registry.clone(), graph.library.clone(), until.clone());
        let mut copy = Copier {
            graph,
            device_of,
            ids: HashMap::new(),
            feeds: HashMap::new(),
            fed_controls: HashMap::new(),
            stack: Vec::new(),
        };
        let arg = graph.registry.find("_Arg")?;
        for (i, feed) in feeds.iter().enumerate() {
            let from = graph.node(feed.node);
            let node = WorkNode {
                name: format!("_recv_{}_{}", from.name, feed.index).into(),
                op: arg,
                kind: Kind::Feed(i),
                attrs: Attrs::new(),
                inputs: SmallVec::new(),
                control: SmallVec::new(),
                outputs: smallvec::smallvec![Port { dtype: graph.dtype(*feed), is_ref: false }],
                device: device_of(feed.node),
                location: None,
            };
            let id = work.push(node);
            copy.feeds.insert(*feed, id);
        }
        work.fetches = fetches.iter().map(|o| copy.output(&mut work, *o)).collect();
        work.targets = targets.iter().map(|id| copy.node(&mut work, *id)).collect();
        copy.finish(&mut work)?;
        Ok(work)
    }
}

/// Copies nodes on demand, with a stack of those whose inputs are not copied yet.
struct Copier<'a> {
    graph: &'a Graph,
    device_of: &'a dyn Fn(NodeId) -> u16,
    ids: HashMap<NodeId, NodeId>,
    feeds: HashMap<Output, NodeId>,
    /// For control inputs that do not run because all their outputs are fed, one of the feeds.
    fed_controls: HashMap<NodeId, Option<NodeId>>,
    stack: Vec<(NodeId, NodeId)>,
}

impl Copier<'_> {
    fn node(&mut self, work: &mut Work, id: NodeId) -> NodeId {
        if let Some(copied) = self.ids.get(&id) {
            return *copied;
        }
        let node = self.graph.node(id);
        work.has_control_flow |= node.op.class.is_control_flow();
        let copied = work.push(WorkNode::from_node(node, (self.device_of)(id)));
        self.ids.insert(id, copied);
        self.stack.push((id, copied));
        copied
    }

    fn output(&mut self, work: &mut Work, o: Output) -> Output {
        match self.feeds.get(&o) {
            Some(feed) => feed.output(0),
            None => self.node(work, o.node).output(o.index),
        }
    }

    /// A control input; a node whose outputs are all fed does not run, so its feed replaces it.
    fn control(&mut self, work: &mut Work, id: NodeId) -> NodeId {
        if self.feeds.is_empty() {
            return self.node(work, id);
        }
        let (graph, feeds) = (self.graph, &self.feeds);
        let feed = *self.fed_controls.entry(id).or_insert_with(|| {
            let outputs = graph.node(id).outputs.len() as u32;
            let all = (0..outputs).all(|i| feeds.contains_key(&id.output(i)));
            if all { feeds.get(&id.output(0)).copied() } else { None }
        });
        feed.unwrap_or_else(|| self.node(work, id))
    }

    fn finish(&mut self, work: &mut Work) -> Result<()> {
        while let Some((id, copied)) = self.stack.pop() {
            work.check_now_and_then(copied)?;
            let node = self.graph.node(id);
            let inputs = node.inputs.iter().map(|o| self.output(work, *o)).collect();
            let control = node.control.iter().map(|c| self.control(work, *c)).collect();
            work.nodes[copied.at()].inputs = inputs;
            work.nodes[copied.at()].control = control;
        }
        Ok(())
    }
}
