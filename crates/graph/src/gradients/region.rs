//! The part of one frame on the gradient path: its nodes, and its inner loops as one step each.

use super::accumulate::sum_grads;
use super::backward::Backward;
use super::{carries, loops, stacks, to_dense};
use std::collections::{HashMap, HashSet};
use thalweg_core::builder::Builder;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, internal, unimplemented};
use thalweg_core::grad::{Grad, GradCall};
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::{Class, Gradient, StackUse};

/// One step of the backward pass.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    Node(NodeId),
    /// A loop in this frame, by frame number.
    Loop(u32),
}

pub struct Region {
    /// Steps between `xs` and `ys`, each after all steps that use its outputs; and whether its inputs depend on some x.
    order: Vec<(Step, bool)>,
    wanted: HashSet<Output>,
    frame: u32,
}

impl Region {
    /// The steps between `xs` and `ys` in a frame.
    pub fn find(
        b: &mut Backward<'_>,
        frame: u32,
        ys: &[Output],
        xs: &[Output],
        stop: &HashSet<Output>,
    ) -> Region {
        let wanted: HashSet<Output> = xs.iter().copied().collect();
        let mut over_stacks: HashMap<Step, Vec<Step>> = HashMap::new();
        for (pop, push) in b.over_stacks(frame) {
            over_stacks.entry(pop).or_default().push(push);
        }
        let popping = b.popping(frame);
        let walk = Walk { b, frame, stop, wanted: &wanted, over_stacks };
        // In forward order: steps that depend on no x are excluded.
        let mut depends: HashSet<Step> = HashSet::new();
        let mut order = Vec::new();
        for step in walk.before(ys) {
            let behind =
                |o: &Output| wanted.contains(o) || walk.step_of(o.node).is_some_and(|s| depends.contains(&s));
            let carrying = |o: &&Output| carries(b.dtype(**o)) && !stop.contains(*o);
            let passes_on = walk.inputs(step).iter().filter(carrying).any(behind)
                || walk.pushed_for(step).iter().any(|s| depends.contains(s))
                || popping.contains(&step);
            if passes_on || b.outputs_of(step).iter().any(|o| wanted.contains(o)) {
                depends.insert(step);
                order.push((step, passes_on));
            }
        }
        order.reverse();
        b.mark_live_pops(frame, &depends);
        Region { order, wanted, frame }
    }

    /// Propagates gradients back to the wanted outputs.
    pub fn flow_back(
        &self,
        b: &mut Backward<'_>,
        seeds: Vec<(Output, Grad)>,
        stop: &HashSet<Output>,
    ) -> Result<HashMap<Output, Grad>> {
        let mut flowing: HashMap<Output, Vec<Grad>> = HashMap::new();
        for (o, g) in seeds {
            flowing.entry(o).or_default().push(g);
        }
        let mut found = HashMap::new();
        for (step, passes_on) in &self.order {
            let mut dy = Vec::new();
            for o in b.outputs_of(*step) {
                let total = sum_grads(b, flowing.remove(&o).unwrap_or_default())?;
                if self.wanted.contains(&o) {
                    found.insert(o, total.clone());
                }
                dy.push((o, if stop.contains(&o) { None } else { to_dense(b, total)? }));
            }
            let waited_for = || matches!(step, Step::Loop(_)) && b.waited_for(self.frame).contains(step);
            if !passes_on || (dy.iter().all(|(_, g)| g.is_none()) && !waited_for()) {
                continue;
            }
            let flows = match step {
                Step::Node(id) => through_node(b, *id, &dy.iter().map(|(_, g)| *g).collect::<Vec<_>>())?,
                Step::Loop(frame) => loops::through_loop(b, *frame, &dy)?,
            };
            for (input, g) in flows {
                flowing.entry(input).or_default().push(g);
            }
        }
        // Values that no step of the region computes.
        for x in &self.wanted {
            if let Some(rest) = flowing.remove(x) {
                let total = sum_grads(b, rest)?;
                found.insert(*x, total);
            }
        }
        Ok(found)
    }
}

/// A traversal from outputs to their inputs, within a frame.
struct Walk<'a, 'g> {
    b: &'a Backward<'g>,
    frame: u32,
    stop: &'a HashSet<Output>,
    wanted: &'a HashSet<Output>,
    /// Steps that pop, with the steps that push.
    over_stacks: HashMap<Step, Vec<Step>>,
}

impl Walk<'_, '_> {
    fn step_of(&self, id: NodeId) -> Option<Step> {
        self.b.step_of(id, self.frame)
    }

    /// The values that a step passes gradients back to.
    fn inputs(&self, step: Step) -> Vec<Output> {
        match step {
            Step::Loop(frame) => {
                self.b.entering(frame).iter().flat_map(|e| self.b.graph.node(*e).inputs.to_vec()).collect()
            }
            Step::Node(id) if self.b.begins_iteration(id) => Vec::new(),
            Step::Node(id) => self.b.graph.node(id).inputs.to_vec(),
        }
    }

    /// The steps that pushed the values which this one pops.
    fn pushed_for(&self, step: Step) -> &[Step] {
        self.over_stacks.get(&step).map_or(&[], Vec::as_slice)
    }

    /// All steps that these outputs depend on, in topological order.
    fn before(&self, ys: &[Output]) -> Vec<Step> {
        let mut order = Vec::new();
        let mut seen: HashSet<Step> = HashSet::new();
        let loops = |s: &Step| matches!(s, Step::Loop(_));
        let waited_for = self.b.waited_for(self.frame).into_iter().filter(loops);
        let mut stack: Vec<(Step, bool)> =
            ys.iter().filter_map(|y| self.step_of(y.node)).chain(waited_for).map(|s| (s, false)).collect();
        while let Some((step, done)) = stack.pop() {
            if done {
                order.push(step);
                continue;
            }
            if !seen.insert(step) {
                continue;
            }
            stack.push((step, true));
            stack.extend(self.pushed_for(step).iter().filter(|s| !seen.contains(s)).map(|s| (*s, false)));
            for o in self.inputs(step) {
                if self.stop.contains(&o) {
                    continue;
                }
                if let Some(next) = self.step_of(o.node)
                    && !seen.contains(&next)
                    && (carries(self.b.dtype(o)) || self.wanted.contains(&o))
                {
                    stack.push((next, false));
                }
            }
        }
        order
    }
}

/// The gradients of a node's inputs.
fn through_node(b: &mut Backward<'_>, id: NodeId, dy: &[Option<Output>]) -> Result<Vec<(Output, Grad)>> {
    let node = b.graph.node(id).clone();
    if node.inputs.is_empty() || b.begins_iteration(id) {
        return Ok(Vec::new());
    }
    // The loop's own Switch: the body's side is an identity.
    if node.op.class == Class::Switch && b.is_loop_switch(&node) {
        return Ok(match (node.inputs.first(), dy.get(1).copied().flatten()) {
            (Some(x), Some(g)) => vec![(*x, Grad::Dense(g))],
            _ => Vec::new(),
        });
    }
    if node.op.stack == Some(StackUse::Pop) {
        if let Some(dy) = dy.first().copied().flatten() {
            b.scope_of(&node.name);
            stacks::through_pop(b, id, dy)?;
        }
        return Ok(Vec::new());
    }
    let rule = match node.op.grad {
        Gradient::Stops => return Ok(Vec::new()),
        Gradient::Rule(rule) => rule,
        Gradient::Missing => {
            return Err(node.blame(unimplemented(format_args!(
                "No gradient defined for {} on the path to '{}'",
                node.op.name, node.name
            ))));
        }
    };
    let y: Vec<Output> = (0..node.outputs.len() as u32).map(|i| id.output(i)).collect();
    b.scope_of(&node.name);
    let mut call = GradCall { graph: b, op: node.op.name, attrs: &node.attrs, x: &node.inputs, y: &y, dy };
    let grads = rule(&mut call).map_err(|e| node.blame(e.context("gradient")))?;
    if grads.len() != node.inputs.len() {
        return Err(node.blame(internal(format_args!(
            "gradient rule gave {} gradients for {} inputs",
            grads.len(),
            node.inputs.len()
        ))));
    }
    let mut flows = Vec::new();
    for (input, g) in node.inputs.iter().zip(grads) {
        // The gradient of a handle is that of its value.
        let is_tensor = b.dtype(*input) != DataType::Resource;
        if let (Grad::Dense(d), true) = (&g, is_tensor) {
            let (want, have) = (b.shape(*input), b.shape(*d));
            want.merge(&have)
                .map_err(|e| node.blame(e.context("gradient of another shape than its input")))?;
        }
        if g != Grad::None {
            flows.push((*input, b.bring_grad(g)?));
        }
    }
    Ok(flows)
}
