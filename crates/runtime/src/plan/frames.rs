//! Which loop each node is in. Loops nest properly or the graph is refused: here, not in the middle of a run.

use crate::work::{Work, WorkNode};
use std::collections::HashMap;
use thalweg_core::error::Result;
use thalweg_core::grad::NodeId;
use thalweg_core::invalid;
use thalweg_core::op::Class;

/// A loop as the graph shows it, before any run.
#[derive(Debug, Clone)]
pub struct FrameInfo {
    pub parent: u32,
    pub parallel_iterations: u32,
    /// Enter nodes into it.
    pub enters: u32,
}

pub struct Frames {
    /// Frame 0 is the graph outside all loops.
    pub frames: Vec<FrameInfo>,
    /// The frame that each node runs in, by node id. An Enter runs outside, an Exit inside its loop.
    pub of: Vec<u32>,
    /// The frame in which each node's outputs appear: for an Enter the loop, for an Exit what is around it.
    pub entered: Vec<u32>,
}

const UNKNOWN: u32 = u32::MAX;

impl Frames {
    pub fn find(work: &Work, order: &[NodeId]) -> Result<Frames> {
        let root = FrameInfo { parent: 0, parallel_iterations: 1, enters: 0 };
        let mut frames =
            Frames { frames: vec![root], of: vec![UNKNOWN; work.nodes.len()], entered: Vec::new() };
        let mut by_name: HashMap<(u32, String), u32> = HashMap::new();
        let mut out = vec![UNKNOWN; work.nodes.len()];
        for id in order {
            let node = work.node(*id);
            let at = frames.frame_of(work, node, &out).map_err(|e| blame(node, e))?;
            frames.of[id.at()] = at;
            out[id.at()] = match node.op.class {
                Class::Enter => frames.enter(node, at, &mut by_name).map_err(|e| blame(node, e))?,
                Class::Exit if at == 0 => return Err(blame(node, invalid!("an Exit that is in no loop"))),
                Class::Exit => frames.frames[at as usize].parent,
                _ => at,
            };
        }
        frames.check_back_edges(work, order, &out)?;
        for o in &work.fetches {
            if out[o.node.at()] != 0 {
                let node = work.node(o.node);
                return Err(blame(
                    node,
                    invalid!(
                        "'{}:{}' is inside a loop: only values outside of loops can be fetched",
                        node.name,
                        o.index
                    ),
                ));
            }
        }
        frames.entered = out;
        Ok(frames)
    }

    /// The one frame that all inputs come from.
    fn frame_of(&self, work: &Work, node: &WorkNode, out: &[u32]) -> Result<u32> {
        let mut found: Option<u32> = None;
        for before in node.inputs.iter().map(|o| o.node).chain(node.control.iter().copied()) {
            let frame = out[before.at()];
            if frame == UNKNOWN || is_free(work.node(before)) {
                continue;
            }
            match found {
                None => found = Some(frame),
                Some(f) if f == frame => {}
                Some(_) => {
                    return Err(invalid!(
                        "its inputs come from different loops: '{}' must pass through an Enter or Exit",
                        work.node(before).name
                    ));
                }
            }
        }
        Ok(found.unwrap_or(0))
    }

    fn enter(
        &mut self,
        node: &WorkNode,
        parent: u32,
        by_name: &mut HashMap<(u32, String), u32>,
    ) -> Result<u32> {
        let name = node.attrs.str("frame_name")?.to_string();
        let parallel = node.attrs.int("parallel_iterations")?.clamp(1, 1 << 20) as u32;
        let frames = &mut self.frames;
        let child = *by_name.entry((parent, name)).or_insert_with(|| {
            frames.push(FrameInfo { parent, parallel_iterations: parallel, enters: 0 });
            frames.len() as u32 - 1
        });
        self.frames[child as usize].enters += 1;
        Ok(child)
    }

    fn check_back_edges(&self, work: &Work, order: &[NodeId], out: &[u32]) -> Result<()> {
        for id in order {
            let node = work.node(*id);
            if node.op.class == Class::NextIteration && self.of[id.at()] == 0 {
                return Err(blame(node, invalid!("a NextIteration that is in no loop")));
            }
            for input in &node.inputs {
                if work.node(input.node).op.class == Class::NextIteration {
                    if node.op.class != Class::Merge {
                        return Err(blame(
                            node,
                            invalid!("takes a value from the loop's last iteration without a Merge"),
                        ));
                    }
                    if out[input.node.at()] != self.of[id.at()] {
                        return Err(blame(node, invalid!("its back edge comes from another loop")));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Values that are there in every frame: constants and feeds are not computed by the step.
pub fn is_free(node: &WorkNode) -> bool {
    matches!(node.kind, crate::work::Kind::Feed(_) | crate::work::Kind::Value(_)) && node.control.is_empty()
}

fn blame(node: &WorkNode, e: thalweg_core::error::Error) -> thalweg_core::error::Error {
    e.at_node(&node.name, node.op.name).at(node.location)
}
