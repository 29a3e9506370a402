//! Receives that wait until what they receive is soon needed.
//!
//! A Recv holds no thread, and one that begins early hides its transfer behind other work. But a model that reads the weights of all its
//! layers from other tasks would have them all in memory before the first layer is done. So a device receives no more than a limit
//! before it is used: what lies further ahead waits, by a control edge, for a node that used something received before it.
//!
//! Such an edge changes no result and cannot make a step hang, whatever else waits for what: the node that a Recv waits for is one that all
//! its users wait for anyway. And a step is not slower for it: nothing changes for those that receive less than the limit, and in others
//! that many bytes are always asked for, which is far more than a connection holds.

use crate::work::{Kind, Work, WorkNode};
use std::collections::{BTreeMap, HashMap};
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;

/// How far ahead devices receive.
#[derive(Clone, Copy)]
pub struct RecvPrefetch<'a> {
    /// Bytes that a device receives before they are used.
    pub limit: u64,
    /// How many bytes an output of a node has, at least.
    pub bytes: &'a dyn Fn(&WorkNode, u32) -> u64,
}

/// What receives wait for, by what they receive and where.
pub type Holds = HashMap<(Output, u16), NodeId>;

/// A tensor that a device receives.
struct Received {
    of: Output,
    bytes: u64,
    users: Vec<NodeId>,
    /// Of its users, the one nearest to the beginning.
    first: NodeId,
}

impl RecvPrefetch<'_> {
    /// Which receives to hold back, of a graph that is still to be cut. `order` has its nodes, inputs first.
    pub fn hold_back(self, work: &Work, order: &[NodeId]) -> Holds {
        let mut holds = Holds::new();
        let facts = Facts::of(work, order);
        for (device, mut received) in self.received(work, order, &facts) {
            let levels = Levels::of(&received, &facts);
            // The usual case ends here.
            if levels.up_to(u32::MAX) <= self.limit {
                continue;
            }
            // What is small is not worth an edge, though it counts.
            received.retain(|r| r.bytes > self.limit / SMALL);
            let chain = Chain::of(work, order, &facts, &received);
            for r in received.iter().filter(|r| facts.is_free[r.of.node.at()]) {
                if let Some(node) = self.wait_for(r, &chain, &levels, &facts) {
                    holds.insert((r.of, device), node);
                }
            }
        }
        holds
    }

    fn received(self, work: &Work, order: &[NodeId], facts: &Facts) -> BTreeMap<u16, Vec<Received>> {
        let mut found: BTreeMap<u16, Vec<Received>> = BTreeMap::new();
        let mut places: HashMap<(Output, u16), usize> = HashMap::new();
        for id in order {
            let node = work.node(*id);
            for o in &node.inputs {
                let from = work.node(o.node);
                let is_at_hand =
                    matches!(from.kind, Kind::Value(_) | Kind::Feed(_)) && from.control.is_empty();
                if from.device == node.device || is_at_hand {
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

    /// The node furthest back from which on to the first use there are no more bytes than the limit.
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

/// A tensor is small that is less than one of so many parts of the limit.
const SMALL: u64 = 128;

/// What is known of each node.
struct Facts {
    /// The length of the longest way to it.
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

/// What a node waits for, without the way back of loops.
fn before(work: &Work, id: NodeId) -> impl Iterator<Item = NodeId> {
    let node = work.node(id);
    let all = node.inputs.iter().map(|o| o.node).chain(node.control.iter().copied());
    all.filter(|b| work.node(*b).op.class != Class::NextIteration)
}

/// The first users of what a device receives, each with the nearest of them that it waits for.
struct Chain {
    /// For each node the nearest first user that it waits for.
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

    /// The nearest first user that all of these wait for, as far as the chain tells. What is used all over a large graph is not held back: the
    /// way up from each of its users would be looked at.
    fn before_all(&self, nodes: &[NodeId], facts: &Facts) -> Option<NodeId> {
        let (one, others) = nodes.split_first()?;
        let mut common = self.before(*one)?;
        let mut left = LONGEST_WAY;
        for other in others {
            let mut there = self.before(*other)?;
            while there != common {
                left = left.checked_sub(1)?;
                // The way up from the later one.
                let later =
                    if facts.level[there.at()] > facts.level[common.at()] { &mut there } else { &mut common };
                *later = self.before(*later)?;
            }
        }
        Some(common)
    }
}

/// First users that are passed in search of the one that all users of a tensor wait for.
const LONGEST_WAY: usize = 1 << 12;

/// How much is received for each level.
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
