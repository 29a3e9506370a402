//! A limit on how much a device prefetches: Recvs wait until their tensors are soon needed.
//!
//! A Recv blocks no thread, and one that starts early overlaps its transfer with computation. But a model that reads the weights of all its
//! layers from other tasks would have them all in memory before the first layer is done. So a device prefetches at most a limit of
//! bytes: a Recv beyond it waits, by a control edge, for a node that used a tensor received before.
//!
//! Such an edge changes no result and cannot deadlock: all users of the Recv depend on that node anyway. It does
//! not slow a step down: the limit far exceeds the bytes in flight on a connection.

use crate::work::{Kind, Work, WorkNode};
use std::collections::{BTreeMap, HashMap};
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;

/// The prefetch limit.
#[derive(Clone, Copy)]
pub struct RecvPrefetch<'a> {
    /// Bytes received before they are used.
    pub limit: u64,
    /// The size of an output of a node, at least.
    pub bytes: &'a dyn Fn(&WorkNode, u32) -> u64,
}

/// The nodes that Recvs wait for, by tensor and receiving device.
pub type RecvDelays = HashMap<(Output, u16), NodeId>;

/// A tensor that a device receives.
struct Received {
    of: Output,
    bytes: u64,
    users: Vec<NodeId>,
    /// Its user at the lowest level.
    first: NodeId,
}

impl RecvPrefetch<'_> {
    /// Which Recvs to delay, of a graph that is not partitioned yet. `order` has its nodes, inputs first.
    pub fn delays(self, work: &Work, order: &[NodeId]) -> RecvDelays {
        let mut delays = RecvDelays::new();
        let facts = Facts::of(work, order);
        for (device, mut received) in self.received(work, order, &facts) {
            let levels = Levels::of(&received, &facts);
            // The usual case.
            if levels.up_to(u32::MAX) <= self.limit {
                continue;
            }
            // Small tensors count, but get no edge.
            received.retain(|r| r.bytes > self.limit / SMALL);
            let chain = Chain::of(work, order, &facts, &received);
            for r in received.iter().filter(|r| facts.is_free[r.of.node.at()]) {
                if let Some(node) = self.wait_for(r, &chain, &levels, &facts) {
                    delays.insert((r.of, device), node);
                }
            }
        }
        delays
    }

    fn received(self, work: &Work, order: &[NodeId], facts: &Facts) -> BTreeMap<u16, Vec<Received>> {
        let mut found: BTreeMap<u16, Vec<Received>> = BTreeMap::new();
        let mut places: HashMap<(Output, u16), usize> = HashMap::new();
        for id in order {
            let node = work.node(*id);
            for o in &node.inputs {
                let from = work.node(o.node);
                let is_copied =
                    matches!(from.kind, Kind::Value(_) | Kind::Feed(_)) && from.control.is_empty();
                if from.device == node.device || is_copied {
                    continue;
                }
                let all = found.entry(node.device).or_default();
                let place = *places.entry((*o, node.device)).or_insert_with(|| {
                    let bytes = (self.bytes)(from, o.index);
                    all.push(Received { of: *o, bytes, users: Vec::new(), first: *id });
                    all.len() - 1
                });
                let received = &mut all[place];
                received.users.push(*id);
                if facts.level[id.at()] < facts.level[received.first.at()] {
                    received.first = *id;
                }
            }
        }
        found
    }

    /// The earliest node of the chain from which to the first use the received bytes are within the limit.
    fn wait_for(self, r: &Received, chain: &Chain, levels: &Levels, facts: &Facts) -> Option<NodeId> {
        let needed = levels.up_to(facts.level[r.first.at()]);
        if needed <= self.limit {
            return None;
        }
        let ahead = |node: NodeId| needed - levels.up_to(facts.level[node.at()]);
        let mut node = chain.before_all(&r.users, facts)?;
        while let Some(further) = chain.before(node).filter(|n| ahead(*n) <= self.limit) {
            node = further;
        }
        Some(node)
    }
}

/// A tensor is small if it is less than the limit divided by this.
const SMALL: u64 = 128;

/// Analysis of each node.
struct Facts {
    /// The length of the longest path to it.
    level: Vec<u32>,
    /// No control flow before it: it is in no loop, and its values are never dead.
    is_free: Vec<bool>,
}

impl Facts {
    fn of(work: &Work, order: &[NodeId]) -> Facts {
        let mut facts = Facts { level: vec![0; work.nodes.len()], is_free: vec![true; work.nodes.len()] };
        for id in order {
            let (mut level, mut is_free) = (0, !work.node(*id).op.class.is_control_flow());
            for before in before(work, *id) {
                level = level.max(facts.level[before.at()] + 1);
                is_free &= facts.is_free[before.at()];
            }
            (facts.level[id.at()], facts.is_free[id.at()]) = (level, is_free);
        }
        facts
    }
}

/// The inputs of a node, without back edges.
fn before(work: &Work, id: NodeId) -> impl Iterator<Item = NodeId> {
    let node = work.node(id);
    let all = node.inputs.iter().map(|o| o.node).chain(node.control.iter().copied());
    all.filter(|b| work.node(*b).op.class != Class::NextIteration)
}

/// The first users of received tensors, each with the nearest of them that it depends on.
struct Chain {
    /// For each node the nearest first user that it depends on.
    previous: Vec<Option<NodeId>>,
}

impl Chain {
    fn of(work: &Work, order: &[NodeId], facts: &Facts, received: &[Received]) -> Chain {
        let mut is_first = vec![false; work.nodes.len()];
        for r in received {
            is_first[r.first.at()] = facts.is_free[r.first.at()];
        }
        let mut previous: Vec<Option<NodeId>> = vec![None; work.nodes.len()];
        for id in order {
            // A Merge does not wait for all its inputs.
            if work.node(*id).op.class != Class::Merge {
                let seen = |b: NodeId| if is_first[b.at()] { Some(b) } else { previous[b.at()] };
                let nearest = before(work, *id).filter_map(seen).max_by_key(|b| facts.level[b.at()]);
                previous[id.at()] = nearest;
            }
        }
        Chain { previous }
    }

    fn before(&self, id: NodeId) -> Option<NodeId> {
        self.previous[id.at()]
    }

    /// The nearest first user that all of these depend on, as far as the chain shows. Tensors with very many users are not delayed:
    /// the search visits the chain of each user.
    fn before_all(&self, nodes: &[NodeId], facts: &Facts) -> Option<NodeId> {
        let (one, others) = nodes.split_first()?;
        let mut common = self.before(*one)?;
        let mut left = MAX_VISITED;
        for other in others {
            let mut there = self.before(*other)?;
            while there != common {
                left = left.checked_sub(1)?;
                // Step back from the later one.
                let later =
                    if facts.level[there.at()] > facts.level[common.at()] { &mut there } else { &mut common };
                *later = self.before(*later)?;
            }
        }
        Some(common)
    }
}

/// Nodes visited in search of the one that all users of a tensor depend on.
const MAX_VISITED: usize = 1 << 12;

/// Bytes received by level.
struct Levels {
    /// Levels in order, each with the bytes for it and all before it.
    sums: Vec<(u32, u64)>,
}

impl Levels {
    fn of(received: &[Received], facts: &Facts) -> Levels {
        let mut sums: Vec<(u32, u64)> =
            received.iter().map(|r| (facts.level[r.first.at()], r.bytes)).collect();
        sums.sort_unstable();
        let mut sum = 0u64;
        for (_, bytes) in &mut sums {
            sum = sum.saturating_add(*bytes);
            *bytes = sum;
        }
        Levels { sums }
    }

    /// Bytes for this level and all before it.
    fn up_to(&self, level: u32) -> u64 {
        let after = self.sums.partition_point(|s| s.0 <= level);
        after.checked_sub(1).map_or(0, |last| self.sums[last].1)
    }
}
