//! Loops that span devices.
//!
//! A loop iterates on the device of its condition. On every other device with nodes in it, unless it has a loop variable there, a
//! *control loop* of four nodes iterates with it: it has the same frame name, and receives the condition's value in each iteration. A
//! Recv inside a loop waits for the start of the loop on its device, so that it runs once in each iteration.

use crate::work::{Kind, Work, work_order};
use std::collections::{BTreeSet, HashMap};
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;
use thalweg_core::tensor::Tensor;
use thalweg_graph::frames::Frames;

/// Loop information for partitioning.
#[derive(Default)]
pub struct Loops {
    /// The frame of each node's outputs; 0 outside of loops, and for pruned nodes.
    frame: Vec<u32>,
    /// The node that runs once in each iteration of a frame on a device.
    starts: HashMap<(u32, u16), NodeId>,
}

impl Loops {
    /// The node that a Recv of this node's outputs on a device must wait for.
    pub fn start(&self, node: NodeId, device: u16) -> Option<NodeId> {
        let frame = self.frame.get(node.at()).copied().unwrap_or(0);
        self.starts.get(&(frame, device)).copied()
    }
}

/// Adds control loops where a loop spans devices.
pub fn add_control_loops(work: &mut Work) -> Result<Loops> {
    colocate_loop_edges(work)?;
    let order = work_order(work)?;
    let frames = Frames::find(&work.nodes, &order)?;
    let present = devices_of_frames(work, &order, &frames);
    let mut conditions: HashMap<u32, NodeId> = HashMap::new();
    let mut starts: HashMap<(u32, u16), NodeId> = HashMap::new();
    for id in &order {
        let (node, frame) = (work.node(*id), frames.of[id.at()]);
        match node.op.class {
            Class::LoopCond => drop(conditions.insert(frame, *id)),
            // The Merge of a loop variable runs in each iteration.
            Class::Merge if is_loop_start(work, *id) => drop(starts.insert((frame, node.device), *id)),
            _ => {}
        }
    }
    // A frame comes after its parent.
    for (frame, devices) in present.iter().enumerate().skip(1) {
        let Some(condition) = conditions.get(&(frame as u32)).copied() else { continue };
        if devices.len() < 2 {
            continue;
        }
        for device in devices {
            if !starts.contains_key(&(frame as u32, *device)) {
                let around = starts.get(&(frames.frames[frame].parent, *device)).copied();
                let start = control_loop(work, &frames, frame, *device, condition, around)?;
                starts.insert((frame as u32, *device), start);
            }
        }
    }
    let mut frame = frames.entered;
    for f in &mut frame {
        // Pruned nodes are in no frame.
        *f = if (*f as usize) < present.len() { *f } else { 0 };
    }
    Ok(Loops { frame, starts })
}

/// Colocates an Enter and a NextIteration with their Merge, and an Exit with its Switch. They compute nothing, and only a Merge knows in
/// which iterations it has a value from each side.
fn colocate_loop_edges(work: &mut Work) -> Result<()> {
    for id in work_order(work)? {
        let (device, inputs) = (work.node(id).device, work.node(id).inputs.clone());
        match work.node(id).op.class {
            Class::Merge => {
                for o in inputs {
                    let from = &mut work.nodes[o.node.at()];
                    if matches!(from.op.class, Class::Enter | Class::NextIteration) {
                        from.device = device;
                    }
                }
            }
            Class::Exit => {
                if let Some(o) = inputs.first() {
                    work.nodes[id.at()].device = work.node(o.node).device;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_loop_start(work: &Work, merge: NodeId) -> bool {
    work.node(merge).inputs.iter().any(|o| work.node(o.node).op.class == Class::NextIteration)
}

/// Which devices have nodes in each frame. A device in a frame is also in its parents.
fn devices_of_frames(work: &Work, order: &[NodeId], frames: &Frames) -> Vec<BTreeSet<u16>> {
    let mut present = vec![BTreeSet::new(); frames.frames.len()];
    for id in order {
        let node = work.node(*id);
        if matches!(node.kind, Kind::Feed(_) | Kind::Value(_)) && node.control.is_empty() {
            continue;
        }
        for frame in [frames.of[id.at()], frames.entered[id.at()]] {
            present[frame as usize].insert(node.device);
        }
    }
    for frame in (1..present.len()).rev() {
        let inner = present[frame].clone();
        present[frames.frames[frame].parent as usize].extend(inner);
    }
    present
}

/// Adds Enter, Merge, Switch and NextIteration for a frame on a device. Returns the Merge.
fn control_loop(
    work: &mut Work,
    frames: &Frames,
    frame: usize,
    device: u16,
    condition: NodeId,
    around: Option<NodeId>,
) -> Result<NodeId> {
    let info = &frames.frames[frame];
    let mut value = Attrs::new();
    value.set("dtype", DataType::Bool);
    value.set("value", Attr::Tensor(Tensor::scalar(false)));
    let before: Vec<NodeId> = around.into_iter().collect();
    let add = |work: &mut Work, part: &str, op: &str, inputs: &[Output], control: &[NodeId], attrs: Attrs| {
        let added = work.add(condition, &format!("_cloop_{device}_{part}"), op, inputs, control, attrs)?;
        work.nodes[added.at()].device = device;
        Ok::<_, thalweg_core::error::Error>(added)
    };
    let bool_attrs = || {
        let mut attrs = Attrs::new();
        attrs.set("T", DataType::Bool);
        attrs
    };
    let dummy = add(work, "const", "Const", &[], &before, value)?;
    let mut enter_attrs = bool_attrs();
    enter_attrs.set("frame_name", &*info.name);
    enter_attrs.set("is_constant", false);
    enter_attrs.set("parallel_iterations", i64::from(info.parallel_iterations));
    let enter = add(work, "enter", "Enter", &[dummy.output(0)], &[], enter_attrs)?;
    let mut merge_attrs = bool_attrs();
    merge_attrs.set("N", 2i64);
    // Its second input is the NextIteration, which is added below.
    let merge = add(work, "merge", "Merge", &[enter.output(0), enter.output(0)], &[], merge_attrs)?;
    let inputs = [merge.output(0), condition.output(0)];
    let switch = add(work, "switch", "Switch", &inputs, &[], bool_attrs())?;
    let next = add(work, "next", "NextIteration", &[switch.output(1)], &[], bool_attrs())?;
    work.nodes[merge.at()].inputs[1] = next.output(0);
    work.targets.push(switch);
    Ok(merge)
}
