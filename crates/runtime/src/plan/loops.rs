//! Which loops of a graph can run as a program instead of node by node: those of TensorFlow's usual form, with nothing in
//! them that waits. Each becomes one node that takes what its Enters take and gives what its Exits give; loops inside loops
//! go first.
//!
//! A node of such a loop runs in every round, or in every round but the last: the latter if it hangs on the true side of a
//! Switch of the loop's condition. So the loop is two lists of nodes, the condition's and the body's.

use super::Compute;
use super::loop_program::LoopProgram;
use super::order::work_order;
use crate::executor::pass::Pass;
use crate::work::{Kind, Work, WorkNode};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use thalweg_core::attr::Attrs;
use thalweg_core::error::Result;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::{Class, Op};
use thalweg_core::runnable::Runnable;
use thalweg_graph::frames::{FrameNode, Frames};

/// What a loop that became a program is in the work graph.
static LOOP: Op = Op { name: "_Loop", doc: "A while loop run as a program.", expensive: true, ..Op::PURE };

/// Whether this is a loop that became a program.
pub fn is_loop(op: &'static Op) -> bool {
    std::ptr::eq(op, &LOOP)
}

/// A loop that can be a program, by its parts.
pub struct Shape {
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

impl Shape {
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

/// Turns every loop that can be into a program. `computes` are the kernels by node id; the new nodes' are added.
pub fn compile_loops(
    work: &mut Work,
    order: &mut Vec<NodeId>,
    computes: &mut Vec<Option<Compute>>,
    device: &str,
) -> Result<()> {
    // Each round takes the innermost loops away, so it ends once a round finds none. Each looks at the whole graph: loops around more
    // than so many others run node by node.
    for _ in 0..MAX_DEPTH {
        // What is wrong with the frames is reported when the plan is made.
        let Ok(frames) = Frames::find(&work.nodes, order) else { return Ok(()) };
        let found = find_shapes(work, order, computes, &frames);
        if found.is_empty() {
            return Ok(());
        }
        let mut ends = HashMap::new();
        for shape in found {
            replace(work, computes, &shape, device, &mut ends);
        }
        redirect(work, &ends);
        *order = work_order(work)?;
        work.has_control_flow = order.iter().any(|id| work.node(*id).op.class.is_control_flow());
        if !work.has_control_flow {
            return Ok(());
        }
    }
    Ok(())
}

/// Loops in loops that become programs.
const MAX_DEPTH: usize = 32;

fn find_shapes(work: &Work, order: &[NodeId], computes: &[Option<Compute>], frames: &Frames) -> Vec<Shape> {
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
    let finder = |f: usize| Finder { work, computes, ends: &ends, enters: &enters[f] };
    (1..frames.frames.len()).filter(|f| !has_inner[*f]).filter_map(|f| finder(f).shape(&members[f])).collect()
}

/// When a node of the loop runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    Body,
}

struct Finder<'a> {
    work: &'a Work,
    computes: &'a [Option<Compute>],
    /// What the run is asked for: a loop that holds any of it must stay.
    ends: &'a HashSet<NodeId>,
    enters: &'a [NodeId],
}

impl Finder<'_> {
    /// The parts of a loop, or `None` if it is not of the usual form.
    fn shape(&self, members: &[NodeId]) -> Option<Shape> {
        let conditions: Vec<_> =
            members.iter().filter(|id| self.node(**id).op.class == Class::LoopCond).collect();
        let [condition] = conditions.as_slice() else { return None };
        let mut shape = Shape {
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
            self.enter(*id, &mut shape, &mut when)?;
        }
        let mut nexts = Vec::new();
        for id in members {
            if self.ends.contains(id) && self.node(*id).op.class != Class::Exit {
                return None;
            }
            self.member(*id, **condition, &mut shape, &mut when, &mut nexts)?;
        }
        // Without a value for the next round that hangs on the condition, the loop would not end as this one does.
        nexts.iter().all(|o| self.when_of(*o, **condition, &when) == Some(When::Body)).then_some(())?;
        (when.get(*condition) == Some(&When::Always) && self.in_series(&shape)).then_some(shape)
    }

    fn node(&self, id: NodeId) -> &WorkNode {
        self.work.node(id)
    }

    fn enter(&self, id: NodeId, shape: &mut Shape, when: &mut HashMap<NodeId, When>) -> Option<()> {
        let node = self.node(id);
        no_references(node)?;
        if node.attrs.bool("is_constant").ok()? {
            shape.invariants.push((id.output(0), *node.inputs.first()?));
            when.insert(id, When::Always);
        }
        Some(())
    }

    fn member(
        &self,
        id: NodeId,
        condition: NodeId,
        shape: &mut Shape,
        when: &mut HashMap<NodeId, When>,
        nexts: &mut Vec<Output>,
    ) -> Option<()> {
        let node = self.node(id);
        no_references(node)?;
        match node.op.class {
            Class::Merge => {
                let variable = self.variable(id)?;
                nexts.push(variable.next);
                shape.variables.push(variable);
                when.insert(id, When::Always);
            }
            Class::Exit => {
                let from = *node.inputs.first()?;
                let is_end = from.index == 0 && self.node(from.node).op.class == Class::Switch;
                (is_end && node.control.is_empty()).then_some(())?;
                shape.exits.push(id);
            }
            Class::NextIteration => {}
            Class::Switch => {
                let [value, by] = node.inputs.as_slice() else { return None };
                (by.node == condition && self.all_when(node, condition, when)? == When::Always)
                    .then_some(())?;
                shape.name_again(id.output(0), *value);
                shape.name_again(id.output(1), *value);
                self.note_feeds(node, shape);
                when.insert(id, When::Always);
            }
            Class::LoopCond => {
                when.insert(id, self.all_when(node, condition, when)?);
                shape.name_again(id.output(0), *node.inputs.first()?);
                self.note_feeds(node, shape);
            }
            Class::Plain | Class::Constant => self.plain(id, condition, shape, when)?,
            _ => return None,
        }
        Some(())
    }

    fn plain(
        &self,
        id: NodeId,
        condition: NodeId,
        shape: &mut Shape,
        when: &mut HashMap<NodeId, When>,
    ) -> Option<()> {
        let node = self.node(id);
        let at = self.all_when(node, condition, when)?;
        when.insert(id, at);
        self.note_feeds(node, shape);
        if matches!(node.kind, Kind::Value(_)) {
            return Some(());
        }
        let compute = self.computes.get(id.at())?.as_ref()?;
        let is_loop = matches!(node.kind, Kind::Loop(_));
        let waits = matches!(compute.run, Runnable::Async(_));
        if waits && !is_loop {
            return None;
        }
        if is_trigger(node) {
            return Some(());
        }
        if node.op.expensive && !is_loop {
            shape.expensive.push(id);
        }
        shape.stateful |= node.is_stateful() || (is_loop && waits);
        if only_passes_on(node) {
            shape.name_again(id.output(0), *node.inputs.first()?);
            return Some(());
        }
        match at {
            When::Always => shape.always.push(id),
            When::Body => shape.body.push(id),
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
    fn in_series(&self, shape: &Shape) -> bool {
        if shape.expensive.is_empty() {
            return true;
        }
        let mut users: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for id in shape.always.iter().chain(&shape.body) {
            for o in &self.node(*id).inputs {
                users.entry(shape.root(*o).node).or_default().push(*id);
            }
        }
        let mut merges: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for v in &shape.variables {
            merges.entry(shape.root(v.next).node).or_default().push(v.merge);
        }
        // First all that comes after an expensive node, in its round or a later one; of these, what is carried into a round.
        let carried: Vec<NodeId> = reached(&shape.expensive, &[&users, &merges])
            .into_iter()
            .filter(|id| self.node(*id).op.class == Class::Merge)
            .collect();
        let behind = reached(&carried, &[&users]);
        shape.expensive.iter().all(|e| behind.contains(e))
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
    fn note_feeds(&self, node: &WorkNode, shape: &mut Shape) {
        for o in &node.inputs {
            let is_feed = matches!(self.node(o.node).kind, Kind::Feed(_));
            if is_feed && shape.fed.insert(*o) {
                shape.invariants.push((*o, *o));
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
    node.op.never_dead
}

/// An Identity is only another name for its input.
fn only_passes_on(node: &WorkNode) -> bool {
    matches!(node.kind, Kind::Op) && Pass::of(node.op) == Some(Pass::On)
}

/// References are read when they are used, which depends on who runs when: such loops run node by node.
fn no_references(node: &WorkNode) -> Option<()> {
    (!node.outputs.iter().any(|p| p.is_ref)).then_some(())
}

/// Puts the program in the loop's place, and notes which of its outputs stand for which Exits.
fn replace(
    work: &mut Work,
    computes: &mut Vec<Option<Compute>>,
    shape: &Shape,
    device: &str,
    ends: &mut HashMap<NodeId, Output>,
) {
    let program = Arc::new(LoopProgram::compile(work, shape, computes));
    let like = work.node(*shape.exits.first().unwrap_or(&shape.condition.node));
    let first = shape.variables.iter().map(|v| v.first);
    let node = WorkNode {
        name: like.name.clone(),
        op: &LOOP,
        kind: Kind::Loop(program.clone()),
        attrs: Attrs::new(),
        inputs: first.chain(shape.invariants.iter().map(|(_, outside)| *outside)).collect(),
        control: enters(work, shape).flat_map(|e| work.node(e).control.iter().copied()).collect(),
        outputs: shape.exits.iter().flat_map(|e| work.node(*e).outputs.iter().copied()).collect(),
        device: like.device,
        location: like.location,
    };
    let compute = program.compute(&node, device, shape.stateful);
    let id = work.push(node);
    computes.resize(work.nodes.len(), None);
    computes[id.at()] = Some(compute);
    ends.extend(shape.exits.iter().enumerate().map(|(i, exit)| (*exit, id.output(i as u32))));
}

/// The Enters of the loop.
fn enters<'a>(work: &'a Work, shape: &'a Shape) -> impl Iterator<Item = NodeId> + 'a {
    let merged = shape.variables.iter().flat_map(|v| work.node(v.merge).inputs.iter().map(|o| o.node));
    let all = merged.chain(shape.invariants.iter().map(|(inside, _)| inside.node));
    all.filter(|id| work.node(*id).op.class == Class::Enter)
}

/// What took the loops' Exits takes the programs' outputs.
fn redirect(work: &mut Work, ends: &HashMap<NodeId, Output>) {
    let output = |o: &mut Output| *o = ends.get(&o.node).copied().unwrap_or(*o);
    let control = |id: &mut NodeId| *id = ends.get(id).map_or(*id, |o| o.node);
    for node in &mut work.nodes {
        node.inputs.iter_mut().for_each(output);
        node.control.iter_mut().for_each(control);
    }
    work.fetches.iter_mut().for_each(output);
    work.targets.iter_mut().for_each(control);
}
