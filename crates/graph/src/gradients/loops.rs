//! The gradient of a while loop: a loop over the iterations in reverse. It carries the gradient of each loop variable,
//! and accumulates the gradients of loop-invariant values.

use super::backward::{Backward, Level};
use super::history::{self, count_iterations};
use super::region::{Region, Step};
use super::stacks::popped_gradient;
use super::{carries, first, to_dense};
use std::collections::{HashMap, HashSet};
use thalweg_core::attr::Attrs;
use thalweg_core::builder::{Arg, Builder};
use thalweg_core::error::{Result, internal, unimplemented};
use thalweg_core::grad::{Grad, zeros_for};
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;

/// A loop variable of the forward loop.
struct Carried {
    merge: NodeId,
    /// Its initial value, outside the loop.
    first: Output,
    /// Its value in the next iteration.
    next: Output,
    switch: Option<NodeId>,
    /// The gradient of its exit, if there is one.
    dy: Option<Output>,
}

/// A loop variable of a backward loop, under construction.
struct Slot {
    merge: NodeId,
    switch: NodeId,
}

/// The gradients of the loop's initial values and of its invariants, from those of its exits.
pub fn through_loop(
    b: &mut Backward<'_>,
    forward: u32,
    dy: &[(Output, Option<Output>)],
) -> Result<Vec<(Output, Grad)>> {
    let nodes = b.nodes_of(forward);
    let [condition] = nodes.conditions.as_slice() else {
        return Err(unimplemented(format_args!(
            "the gradient of loop '{}', which has {} conditions",
            b.frame(forward).name,
            nodes.conditions.len()
        )));
    };
    b.scope_of(&b.frame(forward).name.clone());
    let mut carried = carried_values(b, &nodes.merges, &nodes.exits, dy)?;
    retain_reached(b, forward, &mut carried);
    let counter = count_iterations(b, forward, *condition)?;
    let mut initial = Vec::with_capacity(carried.len());
    for v in &mut carried {
        initial.push(match v.dy {
            Some(dy) => dy,
            None => {
                let end = exit_of(b, v, *condition)?;
                first(b.add("ZerosLike", vec![end.into()], Attrs::new())?)?
            }
        });
    }
    let mut iterations = b.bring(counter.iterations)?;
    let after = b.pushed_by(forward);
    if !after.is_empty() {
        let here = b.here();
        iterations = b.place("Identity", vec![iterations.into()], Attrs::new(), &after, here)?.output(0);
    }
    let (on, mut level) = begin(b, forward, iterations)?;
    let count = level.count;
    let slots: Vec<Slot> = initial.iter().map(|i| slot(b, *i, &level, on)).collect::<Result<_>>()?;
    let enters: Vec<NodeId> = nodes.enters.iter().copied().filter(|e| is_invariant(b, *e)).collect();
    b.levels.push(level);
    let mut found = body_gradients(b, forward, &carried, &slots, &enters)?;
    for (v, slot) in carried.iter().zip(&slots) {
        let g = found.remove(&v.merge.output(0)).unwrap_or(Grad::None);
        let next = match to_dense(b, g)? {
            Some(g) => g,
            None => first(b.add("ZerosLike", vec![v.merge.output(0).into()], Attrs::new())?)?,
        };
        carry_on(b, slot, next)?;
    }
    let mut sums = Vec::new();
    for enter in enters {
        let g = found.remove(&enter.output(0)).unwrap_or(Grad::None);
        let Some(g) = to_dense(b, g)? else { continue };
        level = b.levels.pop().ok_or_else(|| internal("no loop is being built"))?;
        let outer = *b.graph.node(enter).inputs.first().ok_or_else(|| internal("an Enter without input"))?;
        let held = b.dtype(g);
        let zero = zeros_for(b, outer, held)?;
        let sum = slot(b, zero, &level, on)?;
        b.levels.push(level);
        let total = first(b.add("AddN", vec![Arg::List(vec![sum.switch.output(1), g])], Attrs::new())?)?;
        carry_on(b, &sum, total)?;
        sums.push((enter, sum));
    }
    b.levels.pop();
    b.pushes_end(forward, |b| {
        let here = b.here();
        b.place("Exit", vec![count.output(0).into()], Attrs::new(), &[], here)
    })?;
    let mut flows = Vec::new();
    for (v, slot) in carried.iter().zip(&slots) {
        flows.push((v.first, Grad::Dense(leave(b, slot)?)));
    }
    for (enter, sum) in sums {
        if let Some(outer) = b.graph.node(enter).inputs.first().copied() {
            flows.push((outer, Grad::Dense(leave(b, &sum)?)));
        }
    }
    Ok(flows)
}

fn is_invariant(b: &Backward<'_>, enter: NodeId) -> bool {
    b.graph.node(enter).attrs.bool("is_constant").unwrap_or(false) && carries(b.dtype(enter.output(0)))
}

fn carried_values(
    b: &Backward<'_>,
    merges: &[NodeId],
    exits: &[NodeId],
    dy: &[(Output, Option<Output>)],
) -> Result<Vec<Carried>> {
    // Exits by the Merge of their value.
    let mut switches: HashMap<NodeId, NodeId> = HashMap::new();
    let mut leaving: HashMap<NodeId, Output> = HashMap::new();
    for exit in exits {
        let node = b.graph.node(*exit);
        let switch = node.inputs.first().map(|o| o.node);
        let merge = switch.and_then(|s| b.graph.node(s).inputs.first()).map(|o| o.node);
        let (Some(switch), Some(merge)) = (switch, merge) else { continue };
        let g = dy.iter().find(|(o, _)| o.node == *exit).and_then(|(_, g)| *g);
        if !merges.contains(&merge) {
            if g.is_some() {
                return Err(node.blame(unimplemented("the gradient of a loop's result that is not carried")));
            }
            continue;
        }
        switches.insert(merge, switch);
        leaving.extend(g.map(|g| (merge, g)));
    }
    let mut carried = Vec::new();
    for merge in merges {
        let node = b.graph.node(*merge);
        let class = |o: &Output| b.graph.node(o.node).op.class;
        let enter = node.inputs.iter().find(|o| class(o) == Class::Enter);
        let next = node.inputs.iter().find(|o| class(o) == Class::NextIteration);
        let source = |o: Option<&Output>| o.and_then(|o| b.graph.node(o.node).inputs.first().copied());
        let (Some(first), Some(next)) = (source(enter), source(next)) else {
            return Err(
                node.blame(unimplemented("the gradient of a loop of another form than while_loop makes"))
            );
        };
        if carries(b.dtype(merge.output(0))) {
            let dy = leaving.get(merge).copied();
            carried.push(Carried { merge: *merge, first, next, switch: switches.get(merge).copied(), dy });
        }
    }
    Ok(carried)
}

/// Keeps the loop variables that gradients reach: from an exit, or through others.
fn retain_reached(b: &Backward<'_>, forward: u32, carried: &mut Vec<Carried>) {
    let at: HashMap<NodeId, usize> = carried.iter().enumerate().map(|(i, v)| (v.merge, i)).collect();
    let mut reached: Vec<bool> = carried.iter().map(|v| v.dy.is_some()).collect();
    let mut stack: Vec<Output> = carried.iter().filter(|v| v.dy.is_some()).map(|v| v.next).collect();
    stack.extend(b.pushed_in(forward).into_iter().map(|(_, value)| value));
    for step in b.waited_for(forward) {
        if let Step::Loop(inner) = step {
            stack.extend(b.entering(inner).iter().flat_map(|e| b.graph.node(*e).inputs.iter().copied()));
        }
    }
    let mut seen: HashSet<NodeId> = HashSet::new();
    while let Some(o) = stack.pop() {
        if b.frame_of(o.node) != forward || !carries(b.dtype(o)) || !seen.insert(o.node) {
            continue;
        }
        if let Some(i) = at.get(&o.node) {
            if !std::mem::replace(&mut reached[*i], true) {
                stack.push(carried[*i].next);
            }
            continue;
        }
        match b.step_of(o.node, forward) {
            Some(Step::Loop(inner)) => {
                stack.extend(b.entering(inner).iter().flat_map(|e| b.graph.node(*e).inputs.iter().copied()))
            }
            _ => stack.extend(b.graph.node(o.node).inputs.iter().copied()),
        }
    }
    let mut keep = reached.into_iter();
    carried.retain(|_| keep.next().unwrap_or(false));
}

/// The final value; adds an Exit.
fn exit_of(b: &mut Backward<'_>, v: &mut Carried, condition: NodeId) -> Result<Output> {
    let inside = b.frame_of(v.merge);
    let outer = b.frame(inside).parent;
    let switch = match v.switch {
        Some(s) => s,
        None => b.place(
            "Switch",
            vec![v.merge.output(0).into(), condition.output(0).into()],
            Attrs::new(),
            &[],
            inside,
        )?,
    };
    v.switch = Some(switch);
    let exit = b.place("Exit", vec![switch.output(0).into()], Attrs::new(), &[], outer)?;
    b.branches.same_as(exit, b.branches.of_node(condition));
    Ok(exit.output(0))
}

/// A loop of `iterations` iterations: its condition, and the level to build in.
fn begin(b: &mut Backward<'_>, forward: u32, iterations: Output) -> Result<(Output, Level)> {
    let backward = b.new_frame(forward)?;
    let attrs = b.enter_attrs(backward, false);
    let enter = b.place("Enter", vec![iterations.into()], attrs, &[], backward)?.output(0);
    let merge = b.place("Merge", vec![Arg::List(vec![enter, enter])], Attrs::new(), &[], backward)?;
    let left = merge.output(0);
    let zero = history::constant(b, 0, &[merge], backward)?;
    let more = b.place("Greater", vec![left.into(), zero.into()], Attrs::new(), &[], backward)?;
    let on = b.place("LoopCond", vec![more.output(0).into()], Attrs::new(), &[], backward)?.output(0);
    let switch = b.place("Switch", vec![left.into(), on.into()], Attrs::new(), &[], backward)?;
    let pivot = b.place("Identity", vec![switch.output(1).into()], Attrs::new(), &[], backward)?;
    let one = history::constant(b, 1, &[pivot], backward)?;
    let fewer = b.place("Sub", vec![pivot.output(0).into(), one.into()], Attrs::new(), &[], backward)?;
    let next = b.place("NextIteration", vec![fewer.output(0).into()], Attrs::new(), &[], backward)?;
    b.graph.set_input(merge, 1, next.output(0))?;
    let level = Level {
        forward,
        backward,
        pivot,
        next_count: fewer,
        count: switch,
        entered: HashMap::new(),
        past: HashMap::new(),
        gates: HashMap::new(),
    };
    Ok((on, level))
}

/// A loop variable of the backward loop with value `initial`.
fn slot(b: &mut Backward<'_>, initial: Output, level: &Level, on: Output) -> Result<Slot> {
    let frame = level.backward;
    let attrs = b.enter_attrs(frame, false);
    let enter = b.place("Enter", vec![initial.into()], attrs, &[], frame)?.output(0);
    let merge = b.place("Merge", vec![Arg::List(vec![enter, enter])], Attrs::new(), &[], frame)?;
    let switch = b.place("Switch", vec![merge.output(0).into(), on.into()], Attrs::new(), &[], frame)?;
    Ok(Slot { merge, switch })
}

fn carry_on(b: &mut Backward<'_>, slot: &Slot, next: Output) -> Result<()> {
    let frame = b.here();
    let next = b.place("NextIteration", vec![next.into()], Attrs::new(), &[], frame)?;
    b.graph.set_input(slot.merge, 1, next.output(0))
}

/// The final value of a loop variable, in the parent frame.
fn leave(b: &mut Backward<'_>, slot: &Slot) -> Result<Output> {
    let frame = b.here();
    Ok(b.place("Exit", vec![slot.switch.output(0).into()], Attrs::new(), &[], frame)?.output(0))
}

/// The gradients of one iteration: from those of the next iteration's values to those of this one's.
fn body_gradients(
    b: &mut Backward<'_>,
    forward: u32,
    carried: &[Carried],
    slots: &[Slot],
    enters: &[NodeId],
) -> Result<HashMap<Output, Grad>> {
    let pushed = b.pushed_in(forward);
    let ys: Vec<Output> =
        carried.iter().map(|v| v.next).chain(pushed.iter().map(|(_, value)| *value)).collect();
    let xs: Vec<Output> =
        carried.iter().map(|v| v.merge).chain(enters.iter().copied()).map(|n| n.output(0)).collect();
    let mut seeds: Vec<(Output, Grad)> =
        carried.iter().zip(slots).map(|(v, s)| (v.next, Grad::Dense(s.switch.output(1)))).collect();
    let stop = HashSet::new();
    let region = Region::find(b, forward, &ys, &xs, &stop);
    for (push, value) in pushed {
        seeds.push((value, Grad::Dense(popped_gradient(b, push, value)?)));
    }
    region.flow_back(b, seeds, &stop)
}
