//! Values of a loop's rounds, kept for the way back: pushed onto a stack in each forward round, popped in each backward one.

use super::backward::Backward;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::error::{Result, internal};
use thalweg_core::grad::{Arg, NodeId, Output};
use thalweg_core::invalid;
use thalweg_core::op::Class;
use thalweg_core::tensor::Tensor;

/// What has been added to a forward loop to count its rounds.
#[derive(Clone, Copy)]
pub struct Counter {
    /// Runs once in every round of the forward loop.
    pub pivot: NodeId,
    /// Begins the next round; it waits for the pushes of this one.
    add: NodeId,
    /// How many rounds there were, outside of the loop.
    pub rounds: Output,
    sync: Option<NodeId>,
    /// What nodes around the loop that have no inputs wait for, to run when the loop does.
    outside: Option<NodeId>,
}

/// Conds within conds at most; each is a level of the call stack here.
const MAX_BRANCHES: u32 = 256;

/// A value of a forward round, in the backward round that goes with it. `depth`: which of the levels the value's loop is.
pub fn past(b: &mut Backward<'_>, o: Output, depth: usize) -> Result<Output> {
    if let Some(known) = b.levels[depth - 1].past.get(&o) {
        return Ok(*known);
    }
    let node = b.graph.node(o.node).clone();
    let found = match node.op.class {
        Class::Constant => b.copy_constant(o, depth)?,
        // The same in all rounds: the outer value, brought into this loop too.
        Class::Enter if node.attrs.bool("is_constant")? => {
            let outer = *node.inputs.first().ok_or_else(|| internal("an Enter without input"))?;
            let outer = b.bring_to(outer, depth - 1)?;
            b.bring_to(outer, depth)?
        }
        _ => popped(b, o, depth)?,
    };
    b.levels[depth - 1].past.insert(o, found);
    Ok(found)
}

fn popped(b: &mut Backward<'_>, o: Output, depth: usize) -> Result<Output> {
    let forward = b.levels[depth - 1].forward;
    let handle = stack(b, o, forward)?;
    push(b, o, handle, forward)?;
    let inside = {
        let outer = b.bring_to(handle, depth - 1)?;
        b.bring_to(outer, depth)?
    };
    let branch = b.branches.of_output(b.graph, o);
    let gate = gate(b, branch, depth, 0)?;
    let mut attrs = Attrs::new();
    attrs.set("elem_type", b.graph.dtype(o));
    let backward = b.levels[depth - 1].backward;
    let pop = b.place("StackPopV2", vec![inside.into()], attrs, &[gate], backward)?;
    // A stack does not know it, but what comes off has the shape of what went on.
    let shape = b.graph.shape(o);
    if let Some(known) = b.graph.node_mut(pop).shapes.first_mut() {
        *known = shape;
    }
    Ok(pop.output(0))
}

/// A new stack, made outside of the forward loop: once for each time the loop runs.
fn stack(b: &mut Backward<'_>, o: Output, forward: u32) -> Result<Output> {
    let counter = counter_of(b, forward)?;
    let (frame, control) = (b.frame(forward).parent, counter.outside.as_slice());
    let no_limit = constant(b, -1, control, frame)?;
    let mut attrs = Attrs::new();
    attrs.set("elem_type", b.graph.dtype(o));
    let made = b.place("StackV2", vec![no_limit.into()], attrs, control, frame)?;
    b.branches.same_as(made, b.branches.of_output(b.graph, counter.rounds));
    Ok(made.output(0))
}

fn counter_of(b: &Backward<'_>, forward: u32) -> Result<Counter> {
    b.counters.get(&forward).copied().ok_or_else(|| internal("a loop without a counter"))
}

/// Pushes happen in the order of the rounds, however many are under way at once.
fn push(b: &mut Backward<'_>, o: Output, handle: Output, forward: u32) -> Result<()> {
    let counter = counter_of(b, forward)?;
    let attrs = b.enter_attrs(forward, true);
    let inside = b.place("Enter", vec![handle.into()], attrs, &[], forward)?.output(0);
    let args: Vec<Arg> = vec![inside.into(), o.into()];
    let push = b.place("StackPushV2", args, Attrs::new(), &[counter.pivot], forward)?;
    match counter.sync {
        Some(sync) => b.graph.add_control(sync, push),
        None => {
            // A branch not taken pushes nothing, and must not stop the count: so not the pushes themselves.
            let sync = b.place("ControlTrigger", Vec::new(), Attrs::new(), &[push], forward)?;
            b.graph.add_control(counter.add, sync);
            b.counters.insert(forward, Counter { sync: Some(sync), ..counter });
        }
    }
    Ok(())
}

/// A node of the backward loop that runs in those rounds in which the forward loop took this branch.
pub fn gate(b: &mut Backward<'_>, branch: u32, depth: usize, nested: u32) -> Result<NodeId> {
    let (pivot, forward, backward) = {
        let level = &b.levels[depth - 1];
        (level.pivot, level.forward, level.backward)
    };
    let Some(taken) = b.branches.get(branch) else { return Ok(pivot) };
    // A branch around the loop: the loop runs only when it is taken.
    if b.frame_of(taken.pred.node) != forward {
        return Ok(pivot);
    }
    if let Some(known) = b.levels[depth - 1].gates.get(&branch) {
        return Ok(*known);
    }
    if nested >= MAX_BRANCHES {
        return Err(invalid!("gradients go through at most {MAX_BRANCHES} conds within conds"));
    }
    gate(b, taken.parent, depth, nested + 1)?;
    let pred = past(b, taken.pred, depth)?;
    let switch = b.place("Switch", vec![pred.into(), pred.into()], Attrs::new(), &[], backward)?;
    let side = switch.output(taken.side);
    let gate = b.place("Identity", vec![side.into()], Attrs::new(), &[], backward)?;
    b.levels[depth - 1].gates.insert(branch, gate);
    Ok(gate)
}

/// A constant in a frame, by way of the nodes it waits for.
pub fn constant(b: &mut Backward<'_>, value: i32, control: &[NodeId], frame: u32) -> Result<Output> {
    let t = Tensor::scalar(value);
    let mut attrs = Attrs::new();
    attrs.set("dtype", t.dtype());
    attrs.set("value", Attr::Tensor(t));
    Ok(b.place("Const", Vec::new(), attrs, control, frame)?.output(0))
}

/// A node of the frame around a loop that runs if and only if the loop does; none if it always does.
fn outside(b: &mut Backward<'_>, forward: u32, branch: u32) -> Result<Option<NodeId>> {
    let outer = b.frame(forward).parent;
    if b.branches.get(branch).is_some_and(|taken| b.frame_of(taken.pred.node) == outer) {
        // Something that enters the loop; not by itself, for the branch may be that of one side of a Switch.
        let into = b.entering(forward).iter().map(|e| b.graph.node(*e).inputs.first().copied());
        let alive = into.flatten().find(|o| b.branches.of_output(b.graph, *o) == branch);
        let alive = alive.ok_or_else(|| internal("nothing of its branch enters the loop"))?;
        let gate = b.place("Identity", vec![alive.into()], Attrs::new(), &[], outer)?;
        return Ok(Some(gate));
    }
    Ok(b.counters.get(&outer).map(|c| c.pivot))
}

/// Adds a counter of rounds to a forward loop; once is enough.
pub fn count_rounds(b: &mut Backward<'_>, forward: u32, condition: NodeId) -> Result<Counter> {
    if let Some(known) = b.counters.get(&forward) {
        return Ok(*known);
    }
    let outer = b.frame(forward).parent;
    let branch = b.branches.of_node(condition);
    let outside = outside(b, forward, branch)?;
    let zero = constant(b, 0, outside.as_slice(), outer)?;
    let attrs = b.enter_attrs(forward, false);
    let enter = b.place("Enter", vec![zero.into()], attrs, &[], forward)?.output(0);
    let merge = b.place("Merge", vec![Arg::List(vec![enter, enter])], Attrs::new(), &[], forward)?;
    let on = condition.output(0);
    let switch = b.place("Switch", vec![merge.output(0).into(), on.into()], Attrs::new(), &[], forward)?;
    let pivot = b.place("Identity", vec![switch.output(1).into()], Attrs::new(), &[], forward)?;
    let one = constant(b, 1, &[pivot], forward)?;
    let add = b.place("AddV2", vec![pivot.output(0).into(), one.into()], Attrs::new(), &[], forward)?;
    let next = b.place("NextIteration", vec![add.output(0).into()], Attrs::new(), &[], forward)?;
    b.graph.set_input(merge, 1, next.output(0))?;
    let rounds = b.place("Exit", vec![switch.output(0).into()], Attrs::new(), &[], outer)?;
    b.branches.same_as(rounds, branch);
    let counter = Counter { pivot, add, rounds: rounds.output(0), sync: None, outside };
    b.counters.insert(forward, counter);
    Ok(counter)
}
