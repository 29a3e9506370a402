//! While loops become programs: each loop of the usual form (`loop_form`) is replaced by one node that takes the inputs of its
//! Enters and has the outputs of its Exits. Inner loops first.

use super::kernels::Kernels;
use super::loop_form::{LoopForm, find_loops};
use super::loop_program::{LoopKernels, LoopProgram};
use crate::work::{Compute, Kind, Work, WorkNode, work_order};
use std::collections::HashMap;
use std::sync::Arc;
use thalweg_core::attr::Attrs;
use thalweg_core::error::Result;
use thalweg_core::kernel::KernelNode;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::{Class, Op};
use thalweg_graph::frames::Frames;

/// The op of a loop program's node.
static LOOP: Op = Op { name: "_Loop", doc: "A while loop run as a program.", expensive: true, ..Op::PURE };

/// Whether this is the op of a loop program.
pub fn is_loop(op: &'static Op) -> bool {
    std::ptr::eq(op, &LOOP)
}

/// Turns every loop that can be into a program. The kernels of the new nodes are added to `kernels`.
pub fn compile_loops(
    work: &mut Work,
    order: &mut Vec<NodeId>,
    kernels: &mut Kernels,
    loop_kernels: LoopKernels,
    device: &str,
) -> Result<()> {
    // Each sweep replaces the innermost loops, until one finds none. A sweep reads the whole graph, hence the limit: loops around
    // more levels than that run node by node.
    for _ in 0..MAX_DEPTH {
        // Errors of the frames are reported when the plan is made.
        let Ok(frames) = Frames::find(&work.nodes, order) else { return Ok(()) };
        let found = find_loops(work, order, kernels, &frames);
        if found.is_empty() {
            return Ok(());
        }
        let mut exits = HashMap::new();
        for form in found {
            replace(work, kernels, loop_kernels, &form, device, &mut exits);
        }
        redirect(work, &exits);
        *order = work_order(work)?;
        work.has_control_flow = order.iter().any(|id| work.node(*id).op.class.is_control_flow());
        if !work.has_control_flow {
            return Ok(());
        }
    }
    Ok(())
}

/// Levels of nested loops that become programs.
const MAX_DEPTH: usize = 32;

/// Adds the program's node, and notes which of its outputs replace which Exits.
fn replace(
    work: &mut Work,
    kernels: &mut Kernels,
    loop_kernels: LoopKernels,
    form: &LoopForm,
    device: &str,
    exits: &mut HashMap<NodeId, Output>,
) {
    let program = Arc::new(LoopProgram::compile(work, form, kernels));
    let like = work.node(*form.exits.first().unwrap_or(&form.condition.node));
    let first = form.variables.iter().map(|v| v.first);
    let node = WorkNode {
        name: like.name.clone(),
        op: &LOOP,
        kind: Kind::Loop,
        attrs: Attrs::new(),
        inputs: first.chain(form.invariants.iter().map(|(_, outside)| *outside)).collect(),
        control: enters(work, form).flat_map(|e| work.node(e).control.iter().copied()).collect(),
        outputs: form.exits.iter().flat_map(|e| work.node(*e).outputs.iter().copied()).collect(),
        device: like.device,
        location: like.location,
    };
    let runnables = loop_kernels.runnables(&program);
    // A stateful loop may wait for other nodes of the step, so it yields to them.
    let run = if form.stateful { (loop_kernels.sliced)(program, true) } else { runnables.whole.clone() };
    let compute = Compute { run, node: Arc::new(kernel_node(&node, device)) };
    let id = work.push(node);
    kernels.add_loop(id, compute, runnables);
    exits.extend(form.exits.iter().enumerate().map(|(i, exit)| (*exit, id.output(i as u32))));
}

fn kernel_node(node: &WorkNode, device: &str) -> KernelNode {
    let outputs = node.outputs.to_vec();
    KernelNode {
        attrs: node.attrs.clone(),
        device: device.into(),
        location: node.location,
        ..KernelNode::without_signature(node.op.name, node.name.clone(), Vec::new(), outputs)
    }
}

/// The Enters of the loop.
fn enters<'a>(work: &'a Work, form: &'a LoopForm) -> impl Iterator<Item = NodeId> + 'a {
    let merged = form.variables.iter().flat_map(|v| work.node(v.merge).inputs.iter().map(|o| o.node));
    let all = merged.chain(form.invariants.iter().map(|(inside, _)| inside.node));
    all.filter(|id| work.node(*id).op.class == Class::Enter)
}

/// Users of the loops' Exits become users of the programs' outputs.
fn redirect(work: &mut Work, exits: &HashMap<NodeId, Output>) {
    let output = |o: &mut Output| *o = exits.get(&o.node).copied().unwrap_or(*o);
    let control = |id: &mut NodeId| *id = exits.get(id).map_or(*id, |o| o.node);
    for node in &mut work.nodes {
        node.inputs.iter_mut().for_each(output);
        node.control.iter_mut().for_each(control);
    }
    work.fetches.iter_mut().for_each(output);
    work.targets.iter_mut().for_each(control);
}
