//! The frame (loop) of each node. Loops that do not nest properly are rejected here, before they run.

use std::collections::HashMap;
use thalweg_core::attr::Attrs;
use thalweg_core::error::{Error, Result};
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::{Class, Op};

/// A node, for the analysis of loops.
pub trait FrameNode {
    fn op(&self) -> &'static Op;
    fn class(&self) -> Class {
        self.op().class
    }
    fn attrs(&self) -> &Attrs;
    fn inputs(&self) -> &[Output];
    fn control(&self) -> &[NodeId];
    fn name(&self) -> &str;
    /// Whether its value is available in every frame: constants and feeds are not computed by the step.
    fn is_free(&self) -> bool;
    fn blame(&self, e: Error) -> Error;
}

/// A loop, statically.
#[derive(Debug, Clone)]
pub struct FrameInfo {
    pub parent: u32,
    pub parallel_iterations: u32,
    /// Enter nodes into it.
    pub enters: u32,
    /// Attr `frame_name` of its Enters.
    pub name: String,
}

pub struct Frames {
    /// Frame 0 is the graph outside all loops.
    pub frames: Vec<FrameInfo>,
    /// The frame that each node runs in, by node id. An Enter runs outside, an Exit inside its loop.
    pub of: Vec<u32>,
    /// The frame of each node's outputs: for an Enter the loop, for an Exit the parent.
    pub entered: Vec<u32>,
}

const UNKNOWN: u32 = u32::MAX;

impl Frames {
    /// Finds the loops among these nodes, in topological order.
    pub fn find<N: FrameNode>(nodes: &[N], order: &[NodeId]) -> Result<Frames> {
        let root = FrameInfo { parent: 0, parallel_iterations: 1, enters: 0, name: String::new() };
        let mut frames = Frames { frames: vec![root], of: vec![UNKNOWN; nodes.len()], entered: Vec::new() };
        let mut by_name: HashMap<(u32, String), u32> = HashMap::new();
        let mut out = vec![UNKNOWN; nodes.len()];
        for id in order {
            let node = &nodes[id.at()];
            let at = frames.frame_of(nodes, node, &out).map_err(|e| node.blame(e))?;
            frames.of[id.at()] = at;
            out[id.at()] = match node.class() {
                Class::Enter => frames.enter(node, at, &mut by_name).map_err(|e| node.blame(e))?,
                Class::Exit if at == 0 => return Err(node.blame(invalid!("an Exit that is in no loop"))),
                Class::Exit => frames.frames[at as usize].parent,
                _ => at,
            };
        }
        frames.check_back_edges(nodes, order, &out)?;
        frames.entered = out;
        Ok(frames)
    }

    /// The frame of all inputs.
    fn frame_of<N: FrameNode>(&self, nodes: &[N], node: &N, out: &[u32]) -> Result<u32> {
        let mut found: Option<u32> = None;
        for before in node.inputs().iter().map(|o| o.node).chain(node.control().iter().copied()) {
            let frame = out[before.at()];
            if frame == UNKNOWN || nodes[before.at()].is_free() {
                continue;
            }
            match found {
                None => found = Some(frame),
                Some(f) if f == frame => {}
                Some(_) => {
                    return Err(invalid!(
                        "its inputs come from different loops: '{}' must pass through an Enter or Exit",
                        nodes[before.at()].name()
                    ));
                }
            }
        }
        Ok(found.unwrap_or(0))
    }

    fn enter<N: FrameNode>(
        &mut self,
        node: &N,
        parent: u32,
        by_name: &mut HashMap<(u32, String), u32>,
    ) -> Result<u32> {
        let name = node.attrs().str("frame_name")?.to_string();
        let parallel = node.attrs().int("parallel_iterations")?.clamp(1, 1 << 20) as u32;
        let frames = &mut self.frames;
        let child = *by_name.entry((parent, name.clone())).or_insert_with(|| {
            frames.push(FrameInfo { parent, parallel_iterations: parallel, enters: 0, name });
            frames.len() as u32 - 1
        });
        self.frames[child as usize].enters += 1;
        Ok(child)
    }

    fn check_back_edges<N: FrameNode>(&self, nodes: &[N], order: &[NodeId], out: &[u32]) -> Result<()> {
        for id in order {
            let node = &nodes[id.at()];
            if node.class() == Class::NextIteration && self.of[id.at()] == 0 {
                return Err(node.blame(invalid!("a NextIteration that is in no loop")));
            }
            for input in node.inputs() {
                if nodes[input.node.at()].class() == Class::NextIteration {
                    if node.class() != Class::Merge {
                        return Err(node.blame(invalid!(
                            "takes a value from the loop's last iteration without a Merge"
                        )));
                    }
                    if out[input.node.at()] != self.of[id.at()] {
                        return Err(node.blame(invalid!("its back edge comes from another loop")));
                    }
                }
            }
        }
        Ok(())
    }
}
