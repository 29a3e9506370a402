//! The plan of a graph without control flow: nodes in order, values in numbered slots that are reused after their last use.

use super::{constant_names, may_loop};
use crate::passes::tile_of;
use crate::work::{Compute, Kind, Work, WorkNode};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;
use thalweg_core::kernel::Value;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Tile;

pub struct Straight {
    pub nodes: Vec<StraightNode>,
    pub constants: Vec<Value>,
    /// Names of the graph's constants among them, for traces.
    pub constant_names: Vec<Arc<str>>,
    pub slots: usize,
    /// The slot of each feed; `None` if it is unused.
    pub feeds: Vec<Option<u32>>,
    pub fetches: Vec<Operand>,
    pub has_loops: bool,
}

pub struct StraightNode {
    pub compute: Compute,
    pub inputs: SmallVec<[Operand; 3]>,
    /// Slots of the outputs; `NOWHERE` for unused ones.
    pub outputs: SmallVec<[u32; 2]>,
    /// Some input is a reference, or is declared as one.
    pub has_references: bool,
    /// The tile function for scalar operands, if it is an elementwise op that has one.
    pub on_numbers: Option<Tile>,
}

pub const NOWHERE: u32 = u32::MAX;

/// Where an input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    Constant(u32),
    /// A slot that is still needed afterwards.
    Keep(u32),
    /// A slot at its last use: the node gets the only reference.
    Take(u32),
}

impl Straight {
    pub fn compile(work: &Work, order: &[NodeId], mut computes: Vec<Option<Compute>>) -> Straight {
        let mut uses: HashMap<Output, u32> = HashMap::new();
        for id in order {
            for o in &work.node(*id).inputs {
                *uses.entry(*o).or_default() += 1;
            }
        }
        for o in &work.fetches {
            *uses.entry(*o).or_default() += 1;
        }
        let mut slots = Slots::default();
        let mut plan = Straight {
            nodes: Vec::with_capacity(order.len()),
            constants: vec![],
            constant_names: constant_names(work, order),
            slots: 0,
            feeds: vec![],
            fetches: vec![],
            has_loops: order.iter().any(|id| may_loop(work.node(*id))),
        };
        let mut locations: HashMap<Output, Location> = HashMap::new();
        // All feeds are set before the first node runs, so none of them can reuse a slot.
        for id in order {
            if let Kind::Feed(n) = &work.node(*id).kind {
                let slot = uses.contains_key(&id.output(0)).then(|| slots.take());
                plan.feeds.resize(plan.feeds.len().max(n + 1), None);
                plan.feeds[*n] = slot;
                locations.extend(slot.map(|s| (id.output(0), Location::Slot(s))));
            }
        }
        for id in order {
            let node = work.node(*id);
            match &node.kind {
                Kind::Feed(_) => continue,
                Kind::Value(t) => {
                    plan.constants.push(Value::Tensor(t.clone()));
                    locations.insert(id.output(0), Location::Constant(plan.constants.len() as u32 - 1));
                    continue;
                }
                _ => {}
            }
            let Some(compute) = computes[id.at()].take() else { continue };
            let mut freed: SmallVec<[u32; 3]> = SmallVec::new();
            let inputs = node.inputs.iter().map(|o| operand(*o, &locations, &mut uses, &mut freed)).collect();
            // Freed before the outputs get their slots: a node may write where it read.
            freed.iter().for_each(|s| slots.free(*s));
            let outputs = (0..node.outputs.len() as u32)
                .map(|i| {
                    let o = id.output(i);
                    if !uses.contains_key(&o) {
                        return NOWHERE;
                    }
                    let slot = slots.take();
                    locations.insert(o, Location::Slot(slot));
                    slot
                })
                .collect();
            let from_ref = |o: &Output| work.node(o.node).outputs[o.index as usize].is_ref;
            let has_references =
                node.inputs.iter().any(from_ref) || compute.node.inputs.iter().any(|p| p.is_ref);
            let on_numbers = on_numbers(node).filter(|_| !has_references);
            plan.nodes.push(StraightNode { compute, inputs, outputs, has_references, on_numbers });
        }
        plan.fetches =
            work.fetches.iter().map(|o| operand(*o, &locations, &mut uses, &mut SmallVec::new())).collect();
        plan.slots = slots.count as usize;
        plan
    }
}

/// The tile of a node that is one op; it takes any number of elements, so also a scalar.
pub fn on_numbers(node: &WorkNode) -> Option<Tile> {
    let [output] = node.outputs.as_slice() else { return None };
    tile_of(node, output.dtype).filter(|_| matches!(node.kind, Kind::Op))
}

#[derive(Clone, Copy)]
enum Location {
    Constant(u32),
    Slot(u32),
}

fn operand(
    o: Output,
    locations: &HashMap<Output, Location>,
    uses: &mut HashMap<Output, u32>,
    freed: &mut SmallVec<[u32; 3]>,
) -> Operand {
    let last = match uses.get_mut(&o) {
        Some(n) => {
            *n -= 1;
            *n == 0
        }
        None => true,
    };
    match locations.get(&o) {
        Some(Location::Constant(c)) => Operand::Constant(*c),
        Some(Location::Slot(s)) if last => {
            freed.push(*s);
            Operand::Take(*s)
        }
        Some(Location::Slot(s)) => Operand::Keep(*s),
        // In topological order every input has a location.
        None => Operand::Keep(NOWHERE),
    }
}

#[derive(Default)]
pub struct Slots {
    free: Vec<u32>,
    pub count: u32,
}

impl Slots {
    pub fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        })
    }

    pub fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }
}
