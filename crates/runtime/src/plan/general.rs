//! The plan of a graph with control flow or async kernels: nodes with counts of pending inputs, and the edges of each output, by frame.

use super::urgency::urgencies;
use super::{constant_names, frame_id, may_loop};
use crate::last_duration::LastDuration;
use crate::work::{Compute, Forward, Kind, Work};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::NodeId;
use thalweg_core::op::Class;
use thalweg_core::tensor::Tensor;
use thalweg_graph::frames::{FrameNode, Frames};

pub struct General {
    pub nodes: Vec<GeneralNode>,
    pub frames: Vec<StaticFrame>,
    pub edges: Vec<Edge>,
    pub constants: Vec<Tensor>,
    /// Names of the graph's constants among them, for traces.
    pub constant_names: Vec<Arc<str>>,
    /// Nodes without inputs to wait for.
    pub roots: Vec<u32>,
    pub fetches: usize,
    /// Fetches that are constants or feeds.
    pub ready_fetches: Vec<(usize, Source)>,
    /// How long a resumed run occupies its thread.
    pub resume_duration: LastDuration,
    pub has_loops: bool,
}

pub struct GeneralNode {
    /// `None`: a constant or feed that must run as a node.
    pub compute: Option<Compute>,
    /// The constant or feed that it is.
    pub fixed: Option<Source>,
    pub class: Class,
    pub frame: u32,
    /// Index among the nodes of its frame.
    pub local: u32,
    pub inputs: SmallVec<[Source; 3]>,
    /// Data inputs that arrive along edges.
    pub data_edges: u32,
    pub outputs: SmallVec<[Range<u32>; 2]>,
    pub control: Range<u32>,
    pub enter: Option<EnterInfo>,
    pub expensive: bool,
    /// Weight of the nodes behind it, see `urgency`.
    pub urgency: u32,
    /// Runs even when its inputs are dead.
    pub never_dead: bool,
    pub transfers: bool,
    /// Only forwards its input.
    pub forward: Option<Forward>,
    /// Forwards references as references.
    pub forwards_refs: bool,
}

#[derive(Clone, Copy)]
pub struct EnterInfo {
    pub child: u32,
    pub is_constant: bool,
}

/// Where an input's value is.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// An entry of the iteration.
    Entry(u32),
    Constant(u32),
    Feed(u32),
}

/// Where a value goes: an entry of a node, the pending count of a node for a control edge, or a fetch.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub node: u32,
    pub entry: u32,
    /// Which input of a Merge.
    pub input: u32,
}

pub const CONTROL: u32 = u32::MAX;
pub const FETCH: u32 = u32::MAX;

#[derive(Clone, Default)]
pub struct StaticFrame {
    /// Hash of its name.
    pub name: u64,
    pub parent: u32,
    pub parallel_iterations: u32,
    pub enters: u32,
    pub entries: u32,
    /// Pending inputs of each node at the start of an iteration. A Merge counts control edges twice, plus one until it has a value.
    pub pending: Vec<u32>,
}

impl General {
    pub fn compile(work: &Work, order: &[NodeId], computes: Vec<Option<Compute>>) -> Result<General> {
        let frames = Frames::find(&work.nodes, order)?;
        check_fetches(work, &frames)?;
        let mut builder = Builder::new(work, frames);
        builder.plan.constant_names = constant_names(work, order);
        builder.plan.has_loops = order.iter().any(|id| may_loop(work.node(*id)));
        builder.add_nodes(order, computes);
        builder.connect(order);
        Ok(builder.finish())
    }
}

struct Builder<'a> {
    work: &'a Work,
    frames: Frames,
    plan: General,
    /// Plan node of each work node.
    at: Vec<Option<u32>>,
    /// Constants and feeds used in place.
    free: Vec<Option<Source>>,
}

impl<'a> Builder<'a> {
    fn new(work: &'a Work, frames: Frames) -> Self {
        let statics = frames
            .frames
            .iter()
            .map(|f| StaticFrame {
                name: frame_id::name_hash(&f.name),
                parent: f.parent,
                parallel_iterations: f.parallel_iterations,
                enters: f.enters,
                ..Default::default()
            })
            .collect();
        let plan = General {
            nodes: Vec::new(),
            frames: statics,
            edges: Vec::new(),
            constants: Vec::new(),
            constant_names: Vec::new(),
            roots: Vec::new(),
            fetches: work.fetches.len(),
            ready_fetches: Vec::new(),
            resume_duration: LastDuration::default(),
            has_loops: false,
        };
        Builder { work, frames, plan, at: vec![None; work.nodes.len()], free: vec![None; work.nodes.len()] }
    }

    /// Decides which nodes run, and which constants and feeds are read in place. A constant or feed runs as a node if it is the input of a
    /// Merge, which waits for edges, or has control edges out.
    fn add_nodes(&mut self, order: &[NodeId], mut computes: Vec<Option<Compute>>) {
        let urgencies = urgencies(self.work, order);
        let mut must_run = vec![false; self.work.nodes.len()];
        for id in order {
            let node = self.work.node(*id);
            if node.op.class == Class::Merge {
                node.inputs.iter().for_each(|o| must_run[o.node.at()] = true);
            }
            node.control.iter().for_each(|c| must_run[c.at()] = true);
        }
        for id in order {
            let node = self.work.node(*id);
            let fixed = match &node.kind {
                Kind::Feed(n) => Some(Source::Feed(*n as u32)),
                Kind::Value(t) => {
                    self.plan.constants.push(t.clone());
                    Some(Source::Constant(self.plan.constants.len() as u32 - 1))
                }
                _ => None,
            };
            if node.is_free() {
                self.free[id.at()] = fixed;
                if !must_run[id.at()] {
                    continue;
                }
            }
            let frame = self.frames.of[id.at()];
            let local = self.plan.frames[frame as usize].pending.len() as u32;
            self.plan.frames[frame as usize].pending.push(0);
            self.at[id.at()] = Some(self.plan.nodes.len() as u32);
            self.plan.nodes.push(GeneralNode {
                compute: computes[id.at()].take(),
                fixed,
                class: node.op.class,
                frame,
                local,
                inputs: SmallVec::new(),
                data_edges: 0,
                outputs: SmallVec::new(),
                control: 0..0,
                enter: None,
                expensive: node.op.expensive,
                urgency: urgencies[id.at()],
                never_dead: node.op.never_dead,
                transfers: matches!(node.op.class, Class::Send | Class::Recv),
                // A constant or feed has nothing to forward, whatever op it once was.
                forward: if fixed.is_some() { None } else { Forward::of(node.op) },
                forwards_refs: node.outputs.first().is_some_and(|p| p.is_ref),
            });
        }
    }

    fn connect(&mut self, order: &[NodeId]) {
        // Edges by source node and output: collected first, then stored contiguously.
        let mut data: Vec<Vec<(u32, Edge)>> = vec![Vec::new(); self.plan.nodes.len()];
        let mut control: Vec<Vec<Edge>> = vec![Vec::new(); self.plan.nodes.len()];
        for id in order {
            let Some(at) = self.at[id.at()] else { continue };
            self.connect_node(*id, at, &mut data, &mut control);
        }
        for (i, o) in self.work.fetches.iter().enumerate() {
            match (self.free[o.node.at()], self.at[o.node.at()]) {
                (Some(source), _) => self.plan.ready_fetches.push((i, source)),
                (None, Some(from)) => {
                    data[from as usize].push((o.index, Edge { node: FETCH, entry: i as u32, input: 0 }))
                }
                (None, None) => {}
            }
        }
        for (at, (mut data, control)) in data.into_iter().zip(control).enumerate() {
            data.sort_by_key(|(output, _)| *output);
            let outputs = data.last().map_or(0, |(o, _)| o + 1);
            let mut rest = data.as_slice();
            for output in 0..outputs {
                let n = rest.iter().take_while(|(o, _)| *o == output).count();
                let start = self.plan.edges.len() as u32;
                self.plan.edges.extend(rest[..n].iter().map(|(_, e)| *e));
                self.plan.nodes[at].outputs.push(start..start + n as u32);
                rest = &rest[n..];
            }
            let start = self.plan.edges.len() as u32;
            self.plan.edges.extend(control);
            self.plan.nodes[at].control = start..self.plan.edges.len() as u32;
        }
    }

    fn connect_node(
        &mut self,
        id: NodeId,
        at: u32,
        data: &mut [Vec<(u32, Edge)>],
        control: &mut [Vec<Edge>],
    ) {
        let node = self.work.node(id);
        let frame = self.frames.of[id.at()] as usize;
        let is_merge = node.op.class == Class::Merge;
        let (mut data_edges, mut control_edges) = (0, 0);
        // A Merge has one entry for the value that arrives, and one for its index.
        let merge_entry = self.plan.frames[frame].entries;
        if is_merge {
            self.plan.frames[frame].entries += 2;
            self.plan.nodes[at as usize].inputs =
                smallvec::smallvec![Source::Entry(merge_entry), Source::Entry(merge_entry + 1)];
        }
        for (i, o) in node.inputs.iter().enumerate() {
            if let (Some(source), false) = (self.free[o.node.at()], is_merge) {
                self.plan.nodes[at as usize].inputs.push(source);
                continue;
            }
            let Some(from) = self.at[o.node.at()] else { continue };
            let entry = if is_merge {
                merge_entry
            } else {
                let entry = self.plan.frames[frame].entries;
                self.plan.frames[frame].entries += 1;
                self.plan.nodes[at as usize].inputs.push(Source::Entry(entry));
                entry
            };
            data_edges += 1;
            data[from as usize].push((o.index, Edge { node: at, entry, input: i as u32 }));
        }
        for c in &node.control {
            let Some(from) = self.at[c.at()] else { continue };
            control_edges += 1;
            control[from as usize].push(Edge { node: at, entry: CONTROL, input: 0 });
        }
        let plan_node = &mut self.plan.nodes[at as usize];
        plan_node.data_edges = data_edges;
        let pending = if is_merge { 1 + 2 * control_edges } else { data_edges + control_edges };
        self.plan.frames[frame].pending[plan_node.local as usize] = pending;
        if pending == 0 {
            self.plan.roots.push(at);
        }
        if node.op.class == Class::Enter {
            let is_constant = node.attrs.bool("is_constant").unwrap_or(false);
            plan_node.enter = Some(EnterInfo { child: self.frames.entered[id.at()], is_constant });
        }
    }

    fn finish(self) -> General {
        self.plan
    }
}

/// An output inside a loop has a value in each iteration, so it cannot be fetched.
fn check_fetches(work: &Work, frames: &Frames) -> Result<()> {
    match work.fetches.iter().find(|o| frames.entered[o.node.at()] != 0) {
        None => Ok(()),
        Some(o) => {
            let node = work.node(o.node);
            Err(node.blame(invalid!(
                "'{}:{}' is inside a loop: only values outside of loops can be fetched",
                node.name,
                o.index
            )))
        }
    }
}
