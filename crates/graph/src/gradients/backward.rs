//! `Backward`: a graph being extended by gradients. Nodes are added to the backward loop being built, if any, and outer
//! values are made available there.

use super::Options;
use super::branches::Branches;
use super::history;
use super::region::Step;
use super::stacks::Stacks;
use crate::frames::{FrameInfo, Frames};
use crate::graph::{Graph, NodeRequest};
use crate::node::Node;
use std::collections::HashMap;
use thalweg_core::attr::Attrs;
use thalweg_core::builder::{Arg, Builder};
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, internal};
use thalweg_core::grad::Grad;
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;
use thalweg_core::shape::PartialShape;
use thalweg_core::tensor::Tensor;

/// Maximum nesting of loops in gradients; each is a level of the call stack.
const MAX_DEPTH: usize = 64;

pub struct Backward<'g> {
    pub graph: &'g mut Graph,
    frames: Frames,
    /// Enters into, Exits out of, and the condition of each loop.
    loops: Vec<LoopNodes>,
    pub branches: Branches,
    pub stacks: Stacks,
    /// The loops being built, outermost first.
    pub levels: Vec<Level>,
    pub counters: HashMap<u32, history::Counter>,
    /// Name scope of added nodes.
    scope: String,
    prefix: String,
    device: String,
}

#[derive(Default, Clone)]
pub struct LoopNodes {
    pub enters: Vec<NodeId>,
    pub exits: Vec<NodeId>,
    pub merges: Vec<NodeId>,
    pub conditions: Vec<NodeId>,
}

/// A backward loop under construction, and the loop it is the gradient of.
pub struct Level {
    pub forward: u32,
    pub backward: u32,
    /// Runs once in every iteration.
    pub pivot: NodeId,
    /// The count for the next iteration, decremented.
    pub next_count: NodeId,
    /// The Switch of the remaining count.
    pub count: NodeId,
    /// Outer values entered into this loop.
    pub entered: HashMap<Output, Output>,
    /// Values of the forward iterations, popped in this loop.
    pub past: HashMap<Output, Output>,
    /// Nodes live in the iterations in which the forward loop took a branch, by branch.
    pub gates: HashMap<u32, NodeId>,
}

impl<'g> Backward<'g> {
    pub fn new(graph: &'g mut Graph, options: &Options<'_>) -> Result<Self> {
        let has_loops = graph.nodes().iter().any(|n| n.op.class == Class::Enter);
        let order = if has_loops { crate::order::topological_order(graph, 0)? } else { Vec::new() };
        let mut frames = Frames::find(graph.nodes(), &order)?;
        if !has_loops {
            frames.of = vec![0; graph.len()];
            frames.entered = vec![0; graph.len()];
        }
        let mut loops = vec![LoopNodes::default(); frames.frames.len()];
        for id in &order {
            let node = graph.node(*id);
            let inside = &mut loops[frames.of[id.at()] as usize];
            match node.op.class {
                Class::Exit => inside.exits.push(*id),
                Class::LoopCond => inside.conditions.push(*id),
                Class::Merge if is_loop_merge(graph, node) => inside.merges.push(*id),
                Class::Enter => loops[frames.entered[id.at()] as usize].enters.push(*id),
                _ => {}
            }
        }
        let branches = if has_loops { Branches::find(graph, &order) } else { Branches::default() };
        let stacks = Stacks::find(graph, &order);
        let scope = graph.unique_name(if options.scope.is_empty() { "gradients" } else { options.scope });
        Ok(Backward {
            graph,
            frames,
            loops,
            branches,
            stacks,
            levels: Vec::new(),
            counters: HashMap::new(),
            prefix: scope.clone(),
            scope,
            device: options.device.to_string(),
        })
    }

    /// Sets the name scope after the node to be differentiated.
    pub fn scope_of(&mut self, node: &str) {
        self.prefix = format!("{}/{node}_grad", self.scope);
    }

    pub fn check_outside(&self, o: Output) -> Result<()> {
        if self.frame_of(o.node) == 0 {
            return Ok(());
        }
        let node = self.graph.node(o.node);
        Err(invalid!(
            "'{}' is inside a loop: gradients are of, and with respect to, values outside",
            self.graph.tensor_name(o)
        )
        .at_node(&node.name, node.op.name))
    }

    /// The frame of a node's outputs.
    pub fn frame_of(&self, id: NodeId) -> u32 {
        self.frames.entered.get(id.at()).copied().unwrap_or(0)
    }

    pub fn frame(&self, frame: u32) -> &FrameInfo {
        &self.frames.frames[frame as usize]
    }

    pub fn nodes_of(&self, frame: u32) -> LoopNodes {
        self.loops.get(frame as usize).cloned().unwrap_or_default()
    }

    /// The frame under construction.
    pub fn here(&self) -> u32 {
        self.levels.last().map_or(0, |l| l.backward)
    }

    /// The step of a node in a frame: itself, or an inner loop. `None`: it is outside.
    pub fn step_of(&self, id: NodeId, frame: u32) -> Option<Step> {
        let is_enter = self.graph.node(id).op.class == Class::Enter;
        let of = if is_enter { &self.frames.entered } else { &self.frames.of };
        let mut at = of.get(id.at()).copied().unwrap_or(0);
        if at == frame {
            return Some(Step::Node(id));
        }
        while at != 0 {
            let parent = self.frame(at).parent;
            if parent == frame {
                return Some(Step::Loop(at));
            }
            at = parent;
        }
        None
    }

    pub fn outputs_of(&self, step: Step) -> Vec<Output> {
        match step {
            Step::Node(id) => (0..self.graph.node(id).outputs.len() as u32).map(|i| id.output(i)).collect(),
            Step::Loop(frame) => self.loops[frame as usize].exits.iter().map(|e| e.output(0)).collect(),
        }
    }

    pub fn entering(&self, frame: u32) -> &[NodeId] {
        &self.loops[frame as usize].enters
    }

    /// Whether an iteration of a loop begins here: the body's gradient stops at these nodes.
    pub fn begins_iteration(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        node.op.class == Class::Enter || is_loop_merge(self.graph, node)
    }

    pub fn is_loop_switch(&self, node: &Node) -> bool {
        node.inputs.get(1).is_some_and(|p| self.graph.node(p.node).op.class == Class::LoopCond)
    }

    /// A frame for a backward loop inside the one being built.
    pub fn new_frame(&mut self, forward: u32) -> Result<u32> {
        if self.levels.len() >= MAX_DEPTH {
            return Err(invalid!("gradients go through at most {MAX_DEPTH} loops within loops"));
        }
        let name = self.graph.unique_name(&format!("{}/{}", self.scope, self.frame(forward).name));
        // One iteration at a time: values are popped in the order of the iterations.
        let info = FrameInfo { parent: self.here(), parallel_iterations: 1, enters: 0, name };
        self.frames.frames.push(info);
        self.loops.push(LoopNodes::default());
        Ok(self.frames.frames.len() as u32 - 1)
    }

    /// Adds a node in `frame`, unchanged: its inputs are there, or it is an Enter or Exit.
    pub fn place(
        &mut self,
        op: &str,
        args: Vec<Arg>,
        attrs: Attrs,
        control: &[NodeId],
        frame: u32,
    ) -> Result<NodeId> {
        let name = format!("{}/{op}", self.prefix);
        let id = self.graph.add_node(NodeRequest {
            op,
            name: &name,
            args,
            attrs,
            control,
            device: &self.device,
            ..Default::default()
        })?;
        self.frames.of.resize(id.at(), 0);
        self.frames.entered.resize(id.at(), 0);
        // The frame it runs in matters only for forward nodes.
        self.frames.of.push(frame);
        self.frames.entered.push(frame);
        Ok(id)
    }

    /// Makes a value available in the current frame.
    pub fn bring(&mut self, o: Output) -> Result<Output> {
        self.bring_to(o, self.levels.len())
    }

    pub fn bring_grad(&mut self, g: Grad) -> Result<Grad> {
        Ok(match g {
            Grad::None => Grad::None,
            Grad::Dense(o) => Grad::Dense(self.bring(o)?),
            Grad::Slices { values, indices, dense_shape } => Grad::Slices {
                values: self.bring(values)?,
                indices: self.bring(indices)?,
                dense_shape: self.bring(dense_shape)?,
            },
        })
    }

    /// Makes a value available in level `depth`, from the outside.
    pub fn bring_to(&mut self, o: Output, depth: usize) -> Result<Output> {
        let frame = self.frame_of(o.node);
        let Some(level) = depth.checked_sub(1).map(|at| &self.levels[at]) else {
            if frame == 0 {
                return Ok(o);
            }
            return Err(internal(format_args!(
                "'{}' is needed outside of its loop for a gradient",
                self.graph.tensor_name(o)
            )));
        };
        if frame == level.backward {
            return Ok(o);
        }
        if frame == level.forward {
            return history::past(self, o, depth);
        }
        if let Some(known) = level.entered.get(&o) {
            return Ok(*known);
        }
        let outer = self.bring_to(o, depth - 1)?;
        // A copied constant would not be `x` to later gradients with respect to the constant.
        let made = match self.graph.node(outer.node).op.class {
            Class::Constant if !super::carries(self.dtype(outer)) => self.copy_constant(outer, depth)?,
            _ => self.enter(outer, depth)?,
        };
        self.levels[depth - 1].entered.insert(o, made);
        Ok(made)
    }

    pub fn enter(&mut self, outer: Output, depth: usize) -> Result<Output> {
        let frame = self.levels[depth - 1].backward;
        let attrs = self.enter_attrs(frame, true);
        Ok(self.place("Enter", vec![outer.into()], attrs, &[], frame)?.output(0))
    }

    pub fn enter_attrs(&self, frame: u32, is_constant: bool) -> Attrs {
        let info = self.frame(frame);
        let mut attrs = Attrs::new();
        attrs.set("frame_name", info.name.as_str());
        attrs.set("parallel_iterations", i64::from(info.parallel_iterations));
        attrs.set("is_constant", is_constant);
        attrs
    }

    /// A copy of a constant in the backward loop.
    pub fn copy_constant(&mut self, o: Output, depth: usize) -> Result<Output> {
        let level = &self.levels[depth - 1];
        let (pivot, frame) = (level.pivot, level.backward);
        let attrs = self.graph.node(o.node).attrs.clone();
        Ok(self.place("Const", Vec::new(), attrs, &[pivot], frame)?.output(0))
    }
}

fn is_loop_merge(graph: &Graph, node: &Node) -> bool {
    node.op.class == Class::Merge
        && node.inputs.iter().any(|o| graph.node(o.node).op.class == Class::NextIteration)
}

impl Builder for Backward<'_> {
    fn add(&mut self, op: &str, args: Vec<Arg>, attrs: Attrs) -> Result<Vec<Output>> {
        let outputs = |arg: &Arg| match arg {
            Arg::One(o) => vec![*o],
            Arg::List(list) => list.clone(),
        };
        let all: Vec<Output> = args.iter().flat_map(outputs).collect();
        let mut frame = self.here();
        let mut control = Vec::new();
        let mut brought = args;
        if let Some(level) = self.levels.last() {
            // In a loop the small result is saved for the backward loop, not the input with the shape.
            let of_shape = self.graph.registry.find(op)?.shape_value.is_some() && !all.is_empty();
            if of_shape && all.iter().all(|o| self.frame_of(o.node) == level.forward) {
                frame = level.forward;
            } else if all.is_empty() {
                control.push(level.pivot);
            }
        }
        if frame == self.here() {
            for arg in &mut brought {
                match arg {
                    Arg::One(o) => *o = self.bring(*o)?,
                    Arg::List(list) => {
                        for o in list {
                            *o = self.bring(*o)?;
                        }
                    }
                }
            }
        }
        let id = self.place(op, brought, attrs, &control, frame)?;
        if frame != self.here()
            && let Some(o) = all.first()
        {
            self.branches.same_as(id, self.branches.of_output(self.graph, *o));
        }
        Ok((0..self.graph.node(id).outputs.len() as u32).map(|i| id.output(i)).collect())
    }

    fn dtype(&self, o: Output) -> DataType {
        Graph::dtype(self.graph, o)
    }

    fn shape(&self, o: Output) -> PartialShape {
        Graph::shape(self.graph, o)
    }

    fn constant(&self, o: Output) -> Option<Tensor> {
        Graph::constant(self.graph, o)
    }

    fn gradient_scope(&self) -> &str {
        &self.scope
    }
}
