//! Forward values saved for the gradient of a loop: pushed onto a stack in each forward iteration, popped in each backward one.

use super::backward::Backward;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::builder::Arg;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, internal};
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;
use thalweg_core::tensor::Tensor;

/// The iteration counter of a forward loop.
#[derive(Clone, Copy)]
pub struct Counter {
    /// Runs once in every iteration of the forward loop.
    pub pivot: NodeId,
    /// The count of the next iteration; it waits for the pushes of this one.
    add: NodeId,
    /// The number of iterations, outside of the loop.
    pub iterations: Output,
    sync: Option<NodeId>,
    /// Control input of nodes around the loop without inputs, to run only if the loop does.
    outside: Option<NodeId>,
    /// The branch that the loop is in.
    branch: u32,
}

/// Maximum nesting of conds; each is a level of the call stack.
const MAX_BRANCHES: u32 = 256;

/// A forward value, in the corresponding backward iteration. `depth`: the level of the value's loop.
pub fn past(b: &mut Backward<'_>, o: Output, depth: usize) -> Result<Output> {
    if let Some(known) = b.levels[depth - 1].past.get(&o) {
        return Ok(*known);
    }
    let node = b.graph.node(o.node).clone();
    let found = match node.op.class {
        Class::Constant => b.copy_constant(o, depth)?,
        // Loop-invariant: the outer value, entered into this loop too.
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
    let handle = stack(b, b.graph.dtype(o))?;
    push(b, o, handle, depth)?;
    pop(b, o, handle, depth)
}

/// A new stack, outside of all loops. One suffices at any nesting depth: pushes are in the order of all its iterations, and pops in
/// reverse.
pub fn stack(b: &mut Backward<'_>, dtype: DataType) -> Result<Output> {
    let no_limit = constant(b, -1, &[], 0)?;
    let attrs = [("elem_type", dtype)].into_iter().collect();
    Ok(b.place("StackV2", vec![no_limit.into()], attrs, &[], 0)?.output(0))
}

/// Pops a value like `o`, a forward value, in the iterations in which `o` was not dead.
pub fn pop(b: &mut Backward<'_>, o: Output, handle: Output, depth: usize) -> Result<Output> {
    let inside = bring_handle(b, handle, depth)?;
    let branch = b.branches.of_output(b.graph, o);
    let gate = gate(b, branch, depth, 0)?;
    let attrs = [("elem_type", b.graph.dtype(o))].into_iter().collect();
    let backward = b.levels[depth - 1].backward;
    let pop = b.place("StackPopV2", vec![inside.into()], attrs, &[gate], backward)?;
    // A popped value has the shape of the pushed one, which the op cannot infer.
    let shape = b.graph.shape(o);
    if let Some(known) = b.graph.node_mut(pop).shapes.first_mut() {
        *known = shape;
    }
    Ok(pop.output(0))
}

/// A stack's handle in a backward loop. It must be dead, as all inputs of the loop, if the loop is in a branch not taken.
pub fn bring_handle(b: &mut Backward<'_>, handle: Output, depth: usize) -> Result<Output> {
    let Some(level) = depth.checked_sub(1).map(|at| &b.levels[at]) else { return Ok(handle) };
    if let Some(known) = level.entered.get(&handle) {
        return Ok(*known);
    }
    let counter = counter_of(b, level.forward)?;
    let outer = bring_handle(b, handle, depth - 1)?;
    let (frame, gate) = match depth.checked_sub(2).map(|at| b.levels[at].backward) {
        None => (0, counter.outside),
        Some(frame) => (frame, Some(gate(b, counter.branch, depth - 1, 0)?)),
    };
    let outer = gated(b, outer, gate, frame)?;
    let inside = b.enter(outer, depth)?;
    b.levels[depth - 1].entered.insert(handle, inside);
    Ok(inside)
}

/// A value that is dead unless a node runs.
fn gated(b: &mut Backward<'_>, value: Output, gate: Option<NodeId>, frame: u32) -> Result<Output> {
    match gate {
        None => Ok(value),
        Some(gate) => Ok(b.place("Identity", vec![value.into()], Attrs::new(), &[gate], frame)?.output(0)),
    }
}

fn counter_of(b: &Backward<'_>, forward: u32) -> Result<Counter> {
    b.counters.get(&forward).copied().ok_or_else(|| internal("a loop without a counter"))
}

/// Pushes are in the order of the iterations, even with parallel iterations.
fn push(b: &mut Backward<'_>, o: Output, handle: Output, depth: usize) -> Result<()> {
    let loops: Vec<u32> = b.levels[..depth].iter().map(|l| l.forward).collect();
    let (mut inside, mut frame) = (handle, 0);
    for forward in &loops {
        let outside = counter_of(b, *forward)?.outside;
        let outer = gated(b, inside, outside, frame)?;
        let attrs = b.enter_attrs(*forward, true);
        inside = b.place("Enter", vec![outer.into()], attrs, &[], *forward)?.output(0);
        frame = *forward;
    }
    let (forward, args): (u32, Vec<Arg>) = (frame, vec![inside.into(), o.into()]);
    let counter = counter_of(b, forward)?;
    let push = b.place("StackPushV2", args, Attrs::new(), &[counter.pivot], forward)?;
    match counter.sync {
        Some(sync) => b.graph.add_control(sync, push),
        None => {
            // A push in a branch not taken is dead, which the count must not be: a ControlTrigger.
            let sync = b.place("ControlTrigger", Vec::new(), Attrs::new(), &[push], forward)?;
            b.graph.add_control(counter.add, sync);
            b.counters.insert(forward, Counter { sync: Some(sync), ..counter });
        }
    }
    Ok(())
}

/// A node of the backward loop that runs in the iterations in which the forward loop took this branch.
pub fn gate(b: &mut Backward<'_>, branch: u32, depth: usize, nested: u32) -> Result<NodeId> {
    let (pivot, forward, backward) = {
        let level = &b.levels[depth - 1];
        (level.pivot, level.forward, level.backward)
    };
    let Some(taken) = b.branches.get(branch) else { return Ok(pivot) };
    // A branch around the loop: the loop runs only if it is taken.
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

/// A constant in the frame of its control inputs.
pub fn constant(b: &mut Backward<'_>, value: i32, control: &[NodeId], frame: u32) -> Result<Output> {
    let t = Tensor::scalar(value);
    let mut attrs = Attrs::new();
    attrs.set("dtype", t.dtype());
    attrs.set("value", Attr::Tensor(t));
    Ok(b.place("Const", Vec::new(), attrs, control, frame)?.output(0))
}

/// A node of the parent frame that runs if and only if the loop does; `None` if it always does.
fn outside(b: &mut Backward<'_>, forward: u32, branch: u32) -> Result<Option<NodeId>> {
    let outer = b.frame(forward).parent;
    if b.branches.get(branch).is_some_and(|taken| b.frame_of(taken.pred.node) == outer) {
        // An Identity of a value that enters the loop: a control edge from a Switch would be live in both branches.
        let into = b.entering(forward).iter().map(|e| b.graph.node(*e).inputs.first().copied());
        let alive = into.flatten().find(|o| b.branches.of_output(b.graph, *o) == branch);
        let alive = alive.ok_or_else(|| internal("nothing of its branch enters the loop"))?;
        // After the count of the outer loop: that keeps the pushes of its iterations in order.
        let after: Vec<NodeId> = b.counters.get(&outer).map(|c| c.pivot).into_iter().collect();
        let gate = b.place("Identity", vec![alive.into()], Attrs::new(), &after, outer)?;
        return Ok(Some(gate));
    }
    Ok(b.counters.get(&outer).map(|c| c.pivot))
}

/// Adds an iteration counter to a forward loop, once.
pub fn count_iterations(b: &mut Backward<'_>, forward: u32, condition: NodeId) -> Result<Counter> {
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
    let iterations = b.place("Exit", vec![switch.output(0).into()], Attrs::new(), &[], outer)?;
    b.branches.same_as(iterations, branch);
    let counter = Counter { pivot, add, iterations: iterations.output(0), sync: None, outside, branch };
    b.counters.insert(forward, counter);
    Ok(counter)
}
