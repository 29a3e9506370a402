//! Which loops of a graph can run as a program instead of node by node: those in the form of `tf.while_loop`, without async kernels.
//!
//! A node of such a loop runs in every iteration, or in every iteration but the last: the latter if it depends on the true output of a
//! Switch of the loop's condition. So the loop is two lists of nodes, the condition's and the body's.

use super::kernels::Kernels;
use crate::work::{Forward, Kind, Work, WorkNode};
use std::collections::{HashMap, HashSet};
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;
use thalweg_core::runnable::Runnable;
use thalweg_graph::frames::{FrameNode, Frames};

/// The parts of a loop that can be a program.
pub struct LoopForm {
    pub condition: Output,
    /// Loop variables.
    pub variables: Vec<Variable>,
    /// Loop-invariant values: the output inside the loop, and the one outside that it comes from.
    pub invariants: Vec<(Output, Output)>,
    pub exits: Vec<NodeId>,
    /// Nodes that run in every iteration, in order.
    pub always: Vec<NodeId>,
    /// Nodes that run unless the condition is false, in order.
    pub body: Vec<NodeId>,
    /// The invariants that are feeds.
    fed: HashSet<Output>,
    /// Outputs inside the loop that forward another one.
    same_as: HashMap<Output, Output>,
    /// Whether it has stateful nodes.
    pub stateful: bool,
    /// Nodes worth a thread of their own.
    expensive: Vec<NodeId>,
}

impl LoopForm {
    /// The output that this one forwards; itself if it forwards none.
    pub fn root(&self, o: Output) -> Output {
        self.same_as.get(&o).copied().unwrap_or(o)
    }

    fn forward(&mut self, o: Output, same_as: Output) {
        self.same_as.insert(o, self.root(same_as));
    }
}

/// A loop variable: its Merge, the initial value, and the value for the next iteration.
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
        // Constants and feeds are in no frame.
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
    /// Fetches and targets: a loop that contains any of them stays as it is.
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
        // A loop ends with its condition only if all values for the next iteration depend on it.
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
                form.forward(id.output(0), *value);
                form.forward(id.output(1), *value);
                self.note_feeds(node, form);
                when.insert(id, When::Always);
            }
            Class::LoopCond => {
                when.insert(id, self.all_when(node, condition, when)?);
                form.forward(id.output(0), *node.inputs.first()?);
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
        if only_forwards(node) {
            form.forward(id.output(0), *node.inputs.first()?);
            return Some(());
        }
        match at {
            When::Always => form.always.push(id),
            When::Body => form.body.push(id),
        }
        Some(())
    }

    /// When a node runs, from when its inputs do. `None`: undecidable, so the loop is not converted.
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
                // A ControlTrigger runs in the last iteration too, where the body does not.
                let by = if is_trigger(self.node(*c)) { &mut triggered } else { &mut at };
                *by = When::Body;
            }
        }
        (at == When::Body || triggered == When::Always).then_some(at)
    }

    /// Whether each expensive node depends on the iteration before. If not, iterations are better run in parallel.
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
        // The loop variables that depend on an expensive node, in the same iteration or a later one.
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
            // Only Exits may use the false output of the loop's Switches.
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

/// These nodes, and all that can be reached from them along any of the edges.
fn reached(from: &[NodeId], edges: &[&HashMap<NodeId, Vec<NodeId>>]) -> HashSet<NodeId> {
    let mut found: HashSet<NodeId> = from.iter().copied().collect();
    let mut next = from.to_vec();
    while let Some(id) = next.pop() {
        for to in edges.iter().filter_map(|e| e.get(&id)).flatten() {
            if found.insert(*to) {
                next.push(*to);
            }
        }
    }
    found
}

/// Runs even if its inputs are dead.
fn is_trigger(node: &WorkNode) -> bool {
    node.op.never_dead
}

/// An Identity needs no kernel: users of its output use its input.
fn only_forwards(node: &WorkNode) -> bool {
    matches!(node.kind, Kind::Op) && Forward::of(node.op) == Some(Forward::Whole)
}

/// References are read when they are used, which depends on the order of nodes: loops with references run node by node.
fn no_references(node: &WorkNode) -> Option<()> {
    (!node.outputs.iter().any(|p| p.is_ref)).then_some(())
}
