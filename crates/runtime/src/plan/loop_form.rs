//! Which loops of a graph can run as a program instead of node by node: those of TensorFlow's usual form, with nothing in
//! them that waits. Each becomes one node that takes what its Enters take and gives what its Exits give; loops inside loops
//! go first.
//!
//! A node of such a loop runs in every round, or in every round but the last: the latter if it hangs on the true side of a
//! Switch of the loop's condition. So the loop is two lists of nodes, the condition's and the body's.

use super::kernels::Kernels;
use crate::work::{Forward, Kind, Work, WorkNode};
use std::collections::{HashMap, HashSet};
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::{Class, Role};
use thalweg_core::runnable::Runnable;
use thalweg_graph::frames::{FrameNode, Frames};

/// A loop that can be a program, by its parts.
pub struct LoopForm {
    pub condition: Output,
    /// Carried values: the Merge, where its first value comes from, and the value for the next round.
    pub variables: Vec<Variable>,
    /// Values that stay the same: how the loop's nodes call them, and where they come from.
    pub invariants: Vec<(Output, Output)>,
    pub exits: Vec<NodeId>,
    /// Nodes that run in every round, in order.
    pub always: Vec<NodeId>,
    /// Nodes that run unless the condition is false, in order.
    pub body: Vec<NodeId>,
    /// Those of them that are feeds.
    fed: HashSet<Output>,
    /// What a value inside the loop is another name of.
    same_as: HashMap<Output, Output>,
    /// Whether anything in it has effects or reads what others may change.
    pub stateful: bool,
    /// Nodes worth a thread of their own.
    expensive: Vec<NodeId>,
}

impl LoopForm {
    /// The value that this is a name of.
    pub fn root(&self, o: Output) -> Output {
        self.same_as.get(&o).copied().unwrap_or(o)
    }

    fn name_again(&mut self, o: Output, same_as: Output) {
        self.same_as.insert(o, self.root(same_as));
    }
}

pub struct Variable {
    pub merge: NodeId,
    pub first: Output,
    pub next: Output,
}

/// The innermost loops that can be programs.
pub fn find_loops(work: &Work, order: &[NodeId], kernels: &Kernels, frames: &Frames) -> Vec<LoopForm> {
    let mut members: Vec<Vec<NodeId>> = vec![Vec::new(); frames.frames.len()];
    let mut enters: Vec<Vec<NodeId>> = vec![Vec::new(); frames.frames.len()];
    let mut has_inner = vec![false; frames.frames.len()];
    for id in order {
        // Constants and feeds are in all loops at once.
        if !work.node(*id).is_free() {
            members[frames.of[id.at()] as usize].push(*id);
        }
        if work.node(*id).op.class == Class::Enter {
            enters[frames.entered[id.at()] as usize].push(*id);
            has_inner[frames.of[id.at()] as usize] = true;
        }
    }
    let ends: HashSet<NodeId> =
        work.targets.iter().copied().chain(work.fetches.iter().map(|o| o.node)).collect();
    let finder = |f: usize| Finder { work, kernels, ends: &ends, enters: &enters[f] };
    (1..frames.frames.len()).filter(|f| !has_inner[*f]).filter_map(|f| finder(f).form(&members[f])).collect()
}

/// When a node of the loop runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    Body,
}

struct Finder<'a> {
    work: &'a Work,
    kernels: &'a Kernels,
    /// What the run is asked for: a loop that holds any of it must stay.
    ends: &'a HashSet<NodeId>,
    enters: &'a [NodeId],
}

impl Finder<'_> {
    /// The parts of a loop, or `None` if it is not of the usual form.
    fn form(&self, members: &[NodeId]) -> Option<LoopForm> {
        let conditions: Vec<_> =
            members.iter().filter(|id| self.node(**id).op.class == Class::LoopCond).collect();
        let [condition] = conditions.as_slice() else { return None };
        let mut form = LoopForm {
            condition: *self.node(**condition).inputs.first()?,
            variables: Vec::new(),
            invariants: Vec::new(),
            exits: Vec::new(),
            always: Vec::new(),
            body: Vec::new(),
            fed: HashSet::new(),
            same_as: HashMap::new(),
            stateful: false,
            expensive: Vec::new(),
        };
        let mut when: HashMap<NodeId, When> = HashMap::new();
        for id in self.enters {
            self.enter(*id, &mut form, &mut when)?;
        }
        let mut nexts = Vec::new();
        for id in members {
            if self.ends.contains(id) && self.node(*id).op.class != Class::Exit {
                return None;
            }
            self.member(*id, **condition, &mut form, &mut when, &mut nexts)?;
        }
        // Without a value for the next round that hangs on the condition, the loop would not end as this one does.
        nexts.iter().all(|o| self.when_of(*o, **condition, &when) == Some(When::Body)).then_some(())?;
        (when.get(*condition) == Some(&When::Always) && self.in_series(&form)).then_some(form)
    }

    fn node(&self, id: NodeId) -> &WorkNode {
        self.work.node(id)
    }

    fn enter(&self, id: NodeId, form: &mut LoopForm, when: &mut HashMap<NodeId, When>) -> Option<()> {
        let node = self.node(id);
        no_references(node)?;
        if node.attrs.bool("is_constant").ok()? {
            form.invariants.push((id.output(0), *node.inputs.first()?));
            when.insert(id, When::Always);
        }
        Some(())
    }

    fn member(
        &self,
        id: NodeId,
        condition: NodeId,
        form: &mut LoopForm,
        when: &mut HashMap<NodeId, When>,
        nexts: &mut Vec<Output>,
    ) -> Option<()> {
        let node = self.node(id);
        no_references(node)?;
        match node.op.class {
            Class::Merge => {
                let variable = self.variable(id)?;
                nexts.push(variable.next);
                form.variables.push(variable);
                when.insert(id, When::Always);
            }
            Class::Exit => {
                let from = *node.inputs.first()?;
                let is_end = from.index == 0 && self.node(from.node).op.class == Class::Switch;
                (is_end && node.control.is_empty()).then_some(())?;
                form.exits.push(id);
            }
            Class::NextIteration => {}
            Class::Switch => {
                let [value, by] = node.inputs.as_slice() else { return None };
                (by.node == condition && self.all_when(node, condition, when)? == When::Always)
                    .then_some(())?;
                form.name_again(id.output(0), *value);
                form.name_again(id.output(1), *value);
                self.note_feeds(node, form);
                when.insert(id, When::Always);
            }
            Class::LoopCond => {
                when.insert(id, self.all_when(node, condition, when)?);
                form.name_again(id.output(0), *node.inputs.first()?);
                self.note_feeds(node, form);
            }
            Class::Plain | Class::Constant => self.plain(id, condition, form, when)?,
            _ => return None,
        }
        Some(())
    }

    fn plain(
        &self,
        id: NodeId,
        condition: NodeId,
        form: &mut LoopForm,
        when: &mut HashMap<NodeId, When>,
    ) -> Option<()> {
        let node = self.node(id);
        let at = self.all_when(node, condition, when)?;
        when.insert(id, at);
        self.note_feeds(node, form);
        if matches!(node.kind, Kind::Value(_)) {
            return Some(());
        }
        let compute = self.kernels.get(id)?;
        let is_loop = matches!(node.kind, Kind::Loop);
        let waits = matches!(compute.run, Runnable::Async(_));
        if waits && !is_loop {
            return None;
        }
        if is_trigger(node) {
            return Some(());
        }
        if node.op.expensive && !is_loop {
            form.expensive.push(id);
        }
        form.stateful |= node.is_stateful() || (is_loop && waits);
        if only_passes_on(node) {
            form.name_again(id.output(0), *node.inputs.first()?);
            return Some(());
        }
        match at {
            When::Always => form.always.push(id),
            When::Body => form.body.push(id),
        }
        Some(())
    }

    /// When a node runs, given when what it waits for does. `None`: it cannot be told, so the loop is left alone.
    fn all_when(&self, node: &WorkNode, condition: NodeId, when: &HashMap<NodeId, When>) -> Option<When> {
        let mut at = When::Always;
        for o in &node.inputs {
            if self.when_of(*o, condition, when)? == When::Body {
                at = When::Body;
            }
        }
        let mut triggered = When::Always;
        for c in &node.control {
            if !self.node(*c).is_free() && *when.get(c)? == When::Body {
                // A trigger comes in the last round too, where the body does not run.
                let by = if is_trigger(self.node(*c)) { &mut triggered } else { &mut at };
                *by = When::Body;
            }
        }
        (at == When::Body || triggered == When::Always).then_some(at)
    }

    /// Whether each expensive node must wait for what the round before computed. If not, rounds are better run side by side.
    fn in_series(&self, form: &LoopForm) -> bool {
        if form.expensive.is_empty() {
            return true;
        }
        let mut users: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for id in form.always.iter().chain(&form.body) {
            for o in &self.node(*id).inputs {
                users.entry(form.root(*o).node).or_default().push(*id);
            }
        }
        let mut merges: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for v in &form.variables {
            merges.entry(form.root(v.next).node).or_default().push(v.merge);
        }
        // First all that comes after an expensive node, in its round or a later one; of these, what is carried into a round.
        let carried: Vec<NodeId> = reached(&form.expensive, &[&users, &merges])
            .into_iter()
            .filter(|id| self.node(*id).op.class == Class::Merge)
            .collect();
        let behind = reached(&carried, &[&users]);
        form.expensive.iter().all(|e| behind.contains(e))
    }

    fn when_of(&self, o: Output, condition: NodeId, when: &HashMap<NodeId, When>) -> Option<When> {
        let node = self.node(o.node);
        if node.is_free() {
            return Some(When::Always);
        }
        match node.op.class {
            // Of the loop's own Switches, only Exits may look at the side taken at the end.
            Class::Switch => (o.index == 1 && node.inputs.get(1)?.node == condition).then_some(When::Body),
            Class::Merge if o.index != 0 => None,
            _ => when.get(&o.node).copied(),
        }
    }

    /// Feeds may be used inside a loop without an Enter.
    fn note_feeds(&self, node: &WorkNode, form: &mut LoopForm) {
        for o in &node.inputs {
            let is_feed = matches!(self.node(o.node).kind, Kind::Feed(_));
            if is_feed && form.fed.insert(*o) {
                form.invariants.push((*o, *o));
            }
        }
    }

    fn variable(&self, merge: NodeId) -> Option<Variable> {
        let node = self.node(merge);
        let [a, b] = node.inputs.as_slice() else { return None };
        node.control.is_empty().then_some(())?;
        let class = |o: &Output| self.node(o.node).op.class;
        let (enter, next) = match (class(a), class(b)) {
            (Class::Enter, Class::NextIteration) => (a, b),
            (Class::NextIteration, Class::Enter) => (b, a),
            _ => return None,
        };
        let enter = self.node(enter.node);
        (!enter.attrs.bool("is_constant").ok()?).then_some(())?;
        Some(Variable { merge, first: *enter.inputs.first()?, next: *self.node(next.node).inputs.first()? })
    }
}

/// These nodes, and all that can be reached from them by any of the ways.
fn reached(from: &[NodeId], ways: &[&HashMap<NodeId, Vec<NodeId>>]) -> HashSet<NodeId> {
    let mut found: HashSet<NodeId> = from.iter().copied().collect();
    let mut next = from.to_vec();
    while let Some(id) = next.pop() {
        for to in ways.iter().filter_map(|way| way.get(&id)).flatten() {
            if found.insert(*to) {
                next.push(*to);
            }
        }
    }
    found
}

/// Runs even if what it waits for is dead.
fn is_trigger(node: &WorkNode) -> bool {
    node.op.role == Role::ControlTrigger
}

/// An Identity is only another name for its input.
fn only_passes_on(node: &WorkNode) -> bool {
    matches!(node.kind, Kind::Op) && Forward::of(node.op) == Some(Forward::Whole)
}

/// References are read when they are used, which depends on who runs when: such loops run node by node.
fn no_references(node: &WorkNode) -> Option<()> {
    (!node.outputs.iter().any(|p| p.is_ref)).then_some(())
}
