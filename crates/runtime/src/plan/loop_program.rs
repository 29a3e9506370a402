//! `LoopProgram`: a while loop as two lists of nodes over numbered slots. Loop variables keep their slots; the value for the next
//! iteration is written in place into the slot if the old one is not read any more.

use super::kernels::{Kernels, LoopRunnables};
use super::loop_form::LoopForm;
use super::straight::{NOWHERE, Operand, Slots, StraightNode, on_numbers};
use crate::work::{Kind, Work};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use thalweg_core::kernel::Value;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::runnable::Runnable;

pub struct LoopProgram {
    pub constants: Vec<Value>,
    pub slots: usize,
    /// Run in every iteration, the last included.
    pub always: Vec<StraightNode>,
    /// Whether there is another iteration.
    pub condition: Operand,
    pub body: Vec<StraightNode>,
    /// Copies of values for the next iteration that were not written in place: from where to which slot.
    pub moves: Vec<(Operand, u32)>,
    pub exits: Vec<Operand>,
}

impl LoopProgram {
    /// The loop's inputs are in slots 0, 1, ..: first the loop variables, then the invariants.
    pub fn compile(work: &Work, form: &LoopForm, kernels: &Kernels) -> LoopProgram {
        let mut builder = Builder::new(work, form);
        let always = builder.nodes(&form.always, kernels, When::Always);
        let condition = builder.operand(form.condition, When::Always);
        let exits = form.exits.iter().map(|e| builder.exit(*e)).collect();
        let body = builder.nodes(&form.body, kernels, When::Body);
        let moves = builder.moves();
        LoopProgram {
            constants: builder.constants,
            slots: builder.slots.count as usize,
            always,
            condition,
            body,
            moves,
            exits,
        }
    }
}

/// How the kernels of loop programs are made. Executors run the programs, and pass this to plans.
#[derive(Clone, Copy)]
pub struct LoopKernels {
    /// Runs the loop to its end.
    pub whole: fn(Arc<LoopProgram>) -> Runnable,
    /// Yields its thread from time to time. The flag: the loop is stateful.
    pub sliced: fn(Arc<LoopProgram>, bool) -> Runnable,
}

impl LoopKernels {
    pub fn runnables(&self, program: &Arc<LoopProgram>) -> LoopRunnables {
        LoopRunnables { whole: (self.whole)(program.clone()), sliced: (self.sliced)(program.clone(), false) }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    Body,
}

/// How often a value is read in each part.
#[derive(Clone, Copy, Default)]
struct Uses {
    always: u32,
    body: u32,
    exits: u32,
}

#[derive(Clone, Copy)]
enum Location {
    Constant(u32),
    Slot(u32),
    /// A slot that is not reused: loop variables and invariants.
    Own(u32),
}

struct Builder<'a> {
    work: &'a Work,
    form: &'a LoopForm,
    constants: Vec<Value>,
    slots: Slots,
    locations: HashMap<Output, Location>,
    uses: HashMap<Output, Uses>,
    /// Values never taken out of their slots: the next iteration needs them unchanged.
    stays: HashSet<Output>,
    /// The loop variables, by slot, whose next value this is.
    next_of: HashMap<Output, Vec<u32>>,
    /// Loop variables whose next value a node writes in place.
    in_place: Vec<bool>,
}

impl<'a> Builder<'a> {
    fn new(work: &'a Work, form: &'a LoopForm) -> Self {
        let mut b = Builder {
            work,
            form,
            constants: Vec::new(),
            slots: Slots::default(),
            locations: HashMap::new(),
            uses: HashMap::new(),
            stays: HashSet::new(),
            next_of: HashMap::new(),
            in_place: vec![false; form.variables.len()],
        };
        for v in &form.variables {
            let slot = b.slots.take();
            b.locations.insert(v.merge.output(0), Location::Own(slot));
            match form.root(v.next) {
                next if next == v.merge.output(0) => drop(b.stays.insert(next)),
                next => b.next_of.entry(next).or_default().push(slot),
            }
        }
        for (inside, _) in &form.invariants {
            let slot = b.slots.take();
            b.locations.insert(*inside, Location::Own(slot));
            b.stays.insert(*inside);
        }
        b.count_uses();
        b
    }

    fn count_uses(&mut self) {
        let (work, form) = (self.work, self.form);
        for id in &form.always {
            work.node(*id).inputs.iter().for_each(|o| self.used(*o).always += 1);
        }
        self.used(form.condition).always += 1;
        for id in &form.body {
            work.node(*id).inputs.iter().for_each(|o| self.used(*o).body += 1);
        }
        for v in &form.variables {
            if self.form.root(v.next) != v.merge.output(0) {
                self.used(v.next).body += 1;
            }
        }
        for exit in &form.exits {
            work.node(*exit).inputs.iter().for_each(|o| self.used(*o).exits += 1);
        }
    }

    fn used(&mut self, o: Output) -> &mut Uses {
        let root = self.form.root(o);
        self.uses.entry(root).or_default()
    }

    fn nodes(&mut self, ids: &[NodeId], kernels: &Kernels, when: When) -> Vec<StraightNode> {
        let mut nodes = Vec::with_capacity(ids.len());
        for id in ids {
            let node = self.work.node(*id);
            let Some(compute) = kernels.inside_loop(*id) else { continue };
            let inputs = node.inputs.iter().map(|o| self.operand(*o, when)).collect();
            let outputs: SmallVec<[u32; 2]> =
                (0..node.outputs.len() as u32).map(|i| self.output(id.output(i), when)).collect();
            let on_numbers = on_numbers(node);
            nodes.push(StraightNode { compute, inputs, outputs, has_references: false, on_numbers });
        }
        nodes
    }

    /// How a node of this part reads a value; the last use frees its slot.
    fn operand(&mut self, o: Output, when: When) -> Operand {
        let root = self.form.root(o);
        let stays = self.stays.contains(&root);
        let Some(location) = self.location(root) else { return Operand::Keep(NOWHERE) };
        let uses = self.uses.entry(root).or_default();
        let last = match when {
            When::Always => {
                uses.always = uses.always.saturating_sub(1);
                uses.always == 0 && uses.body == 0 && uses.exits == 0
            }
            When::Body => {
                uses.body = uses.body.saturating_sub(1);
                uses.body == 0
            }
        };
        match location {
            Location::Constant(c) => Operand::Constant(c),
            Location::Slot(s) if last => {
                self.slots.free(s);
                Operand::Take(s)
            }
            Location::Own(s) if last && !stays => Operand::Take(s),
            Location::Slot(s) | Location::Own(s) => Operand::Keep(s),
        }
    }

    fn location(&mut self, root: Output) -> Option<Location> {
        if let Some(location) = self.locations.get(&root) {
            return Some(*location);
        }
        let Kind::Value(t) = &self.work.node(root.node).kind else { return None };
        self.constants.push(Value::Tensor(t.clone()));
        let location = Location::Constant(self.constants.len() as u32 - 1);
        self.locations.insert(root, location);
        Some(location)
    }

    fn output(&mut self, o: Output, when: When) -> u32 {
        let Some(uses) = self.uses.get(&o).copied() else { return NOWHERE };
        if when == When::Body
            && let Some(slot) = self.slot_of_next(o, uses)
        {
            return slot;
        }
        let slot = self.slots.take();
        self.locations.insert(o, Location::Slot(slot));
        slot
    }

    /// The slot of the loop variable whose next value is `o`, if the old value is not used after this node.
    fn slot_of_next(&mut self, o: Output, uses: Uses) -> Option<u32> {
        let [slot] = self.next_of.get(&o)?.as_slice() else { return None };
        let variable = self.form.variables.get(*slot as usize)?;
        // Remaining uses of the old value; those of the condition and the exits come before the body.
        let still_used = self.uses.get(&variable.merge.output(0)).is_some_and(|u| u.body > 0);
        if uses.body != 1 || still_used {
            return None;
        }
        self.in_place[*slot as usize] = true;
        Some(*slot)
    }

    fn moves(&mut self) -> Vec<(Operand, u32)> {
        let mut moves = Vec::new();
        for (i, v) in self.form.variables.iter().enumerate() {
            if self.in_place[i] || self.form.root(v.next) == v.merge.output(0) {
                continue;
            }
            let from = self.operand(v.next, When::Body);
            moves.push((from, i as u32));
        }
        moves
    }

    fn exit(&mut self, exit: NodeId) -> Operand {
        let Some(o) = self.work.node(exit).inputs.first() else { return Operand::Keep(NOWHERE) };
        let root = self.form.root(*o);
        match self.location(root) {
            Some(Location::Constant(c)) => Operand::Constant(c),
            Some(Location::Slot(s) | Location::Own(s)) => Operand::Keep(s),
            None => Operand::Keep(NOWHERE),
        }
    }
}
