//! Second derivatives through loops: gradients of values that were pushed on stacks for the backward loop.
//!
//! The backward loop pops what the forward loop pushed. The gradient of each popped value is pushed onto a new stack, by the gradient
//! of the popping loop, and popped by the gradient of the pushing loop. The order is right: the gradient of the pushing loop runs
//! in reverse over the same iterations that the gradient of the popping loop runs forwards.

use super::backward::Backward;
use super::history;
use super::region::Step;
use crate::graph::Graph;
use std::collections::{HashMap, HashSet};
use thalweg_core::attr::Attrs;
use thalweg_core::builder::Arg;
use thalweg_core::error::{Result, internal, unimplemented};
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::{Class, StackUse};

/// The stacks of a graph, with their pushes and pops.
#[derive(Default)]
pub struct Stacks {
    /// Pop to push, for stacks that have one of each.
    push_of: HashMap<NodeId, NodeId>,
    /// Pops of values that depend on some x.
    live: HashSet<NodeId>,
    /// Stacks of gradients, by the push of the value they are gradients of.
    gradients: HashMap<NodeId, GradientStack>,
}

/// A stack of gradients, outside of all loops.
#[derive(Clone, Copy)]
struct GradientStack {
    handle: Output,
    /// Runs when all of them have been pushed, in the frame around the loop that pushes.
    done: Option<NodeId>,
}

fn is_pop(graph: &Graph, id: NodeId) -> bool {
    graph.node(id).op.stack == Some(StackUse::Pop)
}

impl Stacks {
    pub fn find(graph: &Graph, order: &[NodeId]) -> Stacks {
        let pops: Vec<NodeId> = order.iter().copied().filter(|id| is_pop(graph, *id)).collect();
        let mut found = Stacks::default();
        if pops.is_empty() {
            return found;
        }
        let pairs = Pairs::find(graph, order);
        let mut popped: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for pop in pops {
            let handle = graph.node(pop).inputs.first();
            if let Some(stack) = handle.and_then(|h| pairs.stack_of.get(h)) {
                popped.entry(*stack).or_default().push(pop);
            }
        }
        for (stack, pops) in popped {
            if let ([pop], Some([push])) = (pops.as_slice(), pairs.pushes.get(&stack).map(Vec::as_slice)) {
                found.push_of.insert(*pop, *push);
            }
        }
        found
    }
}

/// The stack of each handle.
struct Pairs {
    stack_of: HashMap<Output, NodeId>,
    pushes: HashMap<NodeId, Vec<NodeId>>,
}

impl Pairs {
    fn find(graph: &Graph, order: &[NodeId]) -> Pairs {
        let mut pairs = Pairs { stack_of: HashMap::new(), pushes: HashMap::new() };
        for id in order {
            let node = graph.node(*id);
            let stack = node.inputs.first().and_then(|o| pairs.stack_of.get(o)).copied();
            match (node.op.stack, node.op.class, stack) {
                (Some(StackUse::Create), ..) => {
                    pairs.stack_of.insert(id.output(0), *id);
                }
                (Some(StackUse::Push), _, Some(stack)) => pairs.pushes.entry(stack).or_default().push(*id),
                (_, class, Some(stack))
                    if node.op.identity || matches!(class, Class::Enter | Class::Exit) =>
                {
                    pairs.stack_of.insert(id.output(0), stack);
                }
                (_, Class::Switch, Some(stack)) => {
                    pairs.stack_of.extend([(id.output(0), stack), (id.output(1), stack)]);
                }
                _ => {}
            }
        }
        pairs
    }
}

impl Backward<'_> {
    /// For a frame: the steps that pop, each with its pushing step.
    pub fn over_stacks(&self, frame: u32) -> Vec<(Step, Step)> {
        let both = |(pop, push): (&NodeId, &NodeId)| {
            Some((self.step_of(*pop, frame)?, self.step_of(*push, frame)?)).filter(|(pop, push)| pop != push)
        };
        self.stacks.push_of.iter().filter_map(both).collect()
    }

    /// Marks the pops of values that these steps push: gradients go through them.
    pub fn mark_live_pops(&mut self, frame: u32, pushing: &HashSet<Step>) {
        let alive = |(_, push): &(&NodeId, &NodeId)| {
            self.step_of(**push, frame).is_some_and(|step| pushing.contains(&step))
        };
        let pops: Vec<NodeId> = self.stacks.push_of.iter().filter(alive).map(|(pop, _)| *pop).collect();
        self.stacks.live.extend(pops);
    }

    /// Steps of a frame with pops that gradients go through.
    pub fn popping(&self, frame: u32) -> HashSet<Step> {
        self.stacks.live.iter().filter_map(|pop| self.step_of(*pop, frame)).collect()
    }

    /// Steps of a frame that pushed values whose gradients are on a stack.
    pub fn waited_for(&self, frame: u32) -> HashSet<Step> {
        self.stacks.gradients.keys().filter_map(|push| self.step_of(*push, frame)).collect()
    }

    fn waiting_inside(&self, forward: u32) -> Vec<NodeId> {
        let outer = self.frame(forward).parent;
        let inside = |push: &&NodeId| self.step_of(**push, outer) == Some(Step::Loop(forward));
        let mut found: Vec<NodeId> = self.stacks.gradients.keys().filter(inside).copied().collect();
        found.sort_unstable();
        found
    }

    /// Values pushed in a loop, not in its inner loops, whose gradients are on a stack.
    pub fn pushed_in(&self, forward: u32) -> Vec<(NodeId, Output)> {
        let here = |push: &NodeId| self.step_of(*push, forward) == Some(Step::Node(*push));
        let value = |push: NodeId| self.graph.node(push).inputs.get(1).map(|o| (push, *o));
        self.waiting_inside(forward).into_iter().filter(here).filter_map(value).collect()
    }

    /// Control inputs of the gradient of loop `forward`: loops that push what it pops.
    pub fn pushed_by(&self, forward: u32) -> Vec<NodeId> {
        let done = |push: &NodeId| self.stacks.gradients.get(push).and_then(|w| w.done);
        let mut all: Vec<NodeId> = self.waiting_inside(forward).iter().filter_map(done).collect();
        all.retain(|id| self.frame_of(*id) == self.here());
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The gradient of loop `popping` is built; `done` makes the node that runs at its end. The outer loop waits for it.
    pub fn pushes_end(&mut self, popping: u32, done: impl FnOnce(&mut Self) -> Result<NodeId>) -> Result<()> {
        let outer = self.frame(popping).parent;
        let pops = self.stacks.push_of.iter();
        let pops = pops.filter(|(pop, _)| self.step_of(**pop, outer) == Some(Step::Loop(popping)));
        let pushes: Vec<NodeId> =
            pops.map(|(_, push)| *push).filter(|push| self.stacks.gradients.contains_key(push)).collect();
        if pushes.is_empty() {
            return Ok(());
        }
        let done = done(self)?;
        self.hold_iteration(done)?;
        for push in pushes {
            if let Some(w) = self.stacks.gradients.get_mut(&push) {
                w.done = Some(done);
            }
        }
        Ok(())
    }

    /// Makes the iteration wait for this node, unless it is in a branch not taken.
    fn hold_iteration(&mut self, id: NodeId) -> Result<()> {
        let Some((next, frame)) = self.levels.last().map(|l| (l.next_count, l.backward)) else {
            return Ok(());
        };
        let ran = self.place("ControlTrigger", Vec::new(), Attrs::new(), &[id], frame)?;
        self.graph.add_control(next, ran);
        Ok(())
    }
}

/// Pushes the gradient of a popped value onto a stack, for the gradient of the pushing loop.
pub fn through_pop(b: &mut Backward<'_>, pop: NodeId, dy: Output) -> Result<()> {
    let node = b.graph.node(pop);
    let Some(push) = b.stacks.push_of.get(&pop).copied() else {
        return Err(node.blame(unimplemented("the gradient of a stack with other than one push and one pop")));
    };
    if !b.stacks.live.contains(&pop) {
        return Ok(());
    }
    let handle = history::stack(b, b.graph.dtype(dy))?;
    let args: Vec<Arg> = vec![history::bring_handle(b, handle, b.levels.len())?.into(), dy.into()];
    let frame = b.here();
    let pushed = b.place("StackPushV2", args, Attrs::new(), &[], frame)?;
    b.hold_iteration(pushed)?;
    b.stacks.gradients.insert(push, GradientStack { handle, done: None });
    Ok(())
}

/// The gradient of a pushed value, in the gradient of the pushing loop and in the iterations in which it was pushed.
pub fn popped_gradient(b: &mut Backward<'_>, push: NodeId, value: Output) -> Result<Output> {
    let waiting = b
        .stacks
        .gradients
        .remove(&push)
        .ok_or_else(|| internal("no gradients of this value are on a stack"))?;
    history::pop(b, value, waiting.handle, b.levels.len())
}
