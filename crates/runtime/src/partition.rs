//! Partitioning: the work graph cut by device, with a Send and a Recv wherever a value or an order crosses.

use crate::device::Device;
use crate::plan::work_order;
use crate::work::{Kind, Work, WorkNode};
use smallvec::SmallVec;
use std::collections::HashMap;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::grad::{NodeId, Output};
use thalweg_core::op::Class;
use thalweg_core::tensor::Tensor;

/// The part of one device: its graph, and which of the fetches it computes.
pub struct Part {
    pub device: u16,
    pub work: Work,
    pub fetches: Vec<usize>,
}

/// Splits a work graph by device. One device: one part, nothing added.
pub fn partition(mut work: Work, devices: &[Device]) -> Result<Vec<Part>> {
    let order = work_order(&work)?;
    gather_loops(&mut work, &order);
    let first = order.first().map_or(0, |id| work.node(*id).device);
    if order.iter().all(|id| {
        work.node(*id).device == first || matches!(work.node(*id).kind, Kind::Feed(_) | Kind::Value(_))
    }) {
        let fetches = (0..work.fetches.len()).collect();
        return Ok(vec![Part { device: first, work, fetches }]);
    }
    let mut cut = Cut::new(&work, devices);
    for id in &order {
        cut.copy(*id)?;
    }
    cut.finish(&order)
}

/// A loop runs on one device: that of its condition, for a frame that spans several.
fn gather_loops(work: &mut Work, order: &[NodeId]) {
    let Some(device) =
        order.iter().map(|id| work.node(*id)).find(|n| n.op.class == Class::LoopCond).map(|n| n.device)
    else {
        return;
    };
    // Everything between the Enters and the Exits, found by walking forward from the Enters.
    let mut inside = vec![false; work.nodes.len()];
    for id in order {
        let node = work.node(*id);
        let from_inside = node
            .inputs
            .iter()
            .map(|o| o.node)
            .chain(node.control.iter().copied())
            .any(|n| inside[n.at()] && work.node(n).op.class != Class::Exit);
        inside[id.at()] = node.op.class == Class::Enter || from_inside;
    }
    for (node, inside) in work.nodes.iter_mut().zip(inside) {
        if inside {
            node.device = device;
        }
    }
}

struct Cut<'a> {
    work: &'a Work,
    devices: &'a [Device],
    parts: HashMap<u16, Work>,
    moved: Vec<Option<NodeId>>,
    /// Receives by what they receive and where: one for each tensor and destination.
    received: HashMap<(Output, u16), Output>,
    received_control: HashMap<(NodeId, u16), NodeId>,
    /// Back edges, set when all nodes are there.
    edges: usize,
}

impl<'a> Cut<'a> {
    fn new(work: &'a Work, devices: &'a [Device]) -> Self {
        Cut {
            work,
            devices,
            parts: HashMap::new(),
            moved: vec![None; work.nodes.len()],
            received: HashMap::new(),
            received_control: HashMap::new(),
            edges: 0,
        }
    }

    fn part(&mut self, device: u16) -> &mut Work {
        let work = self.work;
        self.parts.entry(device).or_insert_with(|| {
            let mut part = Work::empty(work.registry.clone(), work.library.clone());
            part.has_control_flow = work.has_control_flow;
            part
        })
    }

    fn copy(&mut self, id: NodeId) -> Result<()> {
        let node = self.work.node(id);
        let mut copy = node.clone();
        copy.inputs = SmallVec::new();
        for o in &node.inputs {
            // A loop is whole on its device, so its back edge, still to come, is too.
            let back = self.work.node(o.node).op.class == Class::NextIteration;
            let input = if back { *o } else { self.input(*o, node.device)? };
            copy.inputs.push(input);
        }
        copy.control = SmallVec::new();
        for c in &node.control {
            let before = self.control(*c, node.device)?;
            copy.control.push(before);
        }
        let moved = self.part(node.device).push(copy);
        self.moved[id.at()] = Some(moved);
        Ok(())
    }

    /// The output as the part of `device` sees it.
    fn input(&mut self, o: Output, device: u16) -> Result<Output> {
        let from = self.work.node(o.node);
        let here = self.moved[o.node.at()].unwrap_or(o.node);
        if from.device == device {
            return Ok(here.output(o.index));
        }
        if let Some(r) = self.received.get(&(o, device)) {
            return Ok(*r);
        }
        // Constants and feeds are at hand everywhere.
        if matches!(from.kind, Kind::Value(_) | Kind::Feed(_)) && from.control.is_empty() {
            let copied = self.part(device).push(from.clone()).output(0);
            self.received.insert((o, device), copied);
            return Ok(copied);
        }
        let dtype = from.outputs[o.index as usize].dtype;
        let received = self.transfer(here.output(o.index), dtype, from, device)?.output(0);
        self.received.insert((o, device), received);
        Ok(received)
    }

    /// The node to wait for on `device` in the place of `before`.
    fn control(&mut self, before: NodeId, device: u16) -> Result<NodeId> {
        let from = self.work.node(before);
        let here = self.moved[before.at()].unwrap_or(before);
        if from.device == device {
            return Ok(here);
        }
        if let Some(r) = self.received_control.get(&(before, device)) {
            return Ok(*r);
        }
        // An order crosses as a small tensor that is sent when `before` has run.
        let mut attrs = Attrs::new();
        attrs.set("dtype", DataType::Float);
        attrs.set("value", Attr::Tensor(Tensor::scalar(0f32)));
        let token = self.part(from.device).add(here, "done", "Const", &[], &[here], attrs)?;
        let received = self.transfer(token.output(0), DataType::Float, from, device)?;
        self.received_control.insert((before, device), received);
        Ok(received)
    }

    fn transfer(&mut self, value: Output, dtype: DataType, from: &WorkNode, to: u16) -> Result<NodeId> {
        self.edges += 1;
        let (sender, receiver) = (&self.devices[from.device as usize], &self.devices[to as usize]);
        let mut attrs = Attrs::new();
        attrs.set("tensor_name", &*format!("edge_{}_{}", self.edges, from.name));
        attrs.set("send_device", sender.name());
        attrs.set("send_device_incarnation", sender.context.incarnation as i64);
        attrs.set("recv_device", receiver.name());
        attrs.set("client_terminated", false);
        let mut send_attrs = attrs.clone();
        send_attrs.set("T", dtype);
        let n = self.edges;
        let part = self.part(from.device);
        let send = part.add(value.node, &format!("_S{}", 2 * n), "_Send", &[value], &[], send_attrs)?;
        part.targets.push(send);
        attrs.set("tensor_type", dtype);
        let mut like = from.clone();
        (like.inputs, like.control) = (SmallVec::new(), SmallVec::new());
        like.op = self.work.registry.find("_Recv")?;
        like.kind = Kind::Op;
        like.name = format!("{}/_S{}", from.name, 2 * n + 1).into();
        let signature = self.work.registry.signature(like.op)?;
        signature.complete(&mut attrs)?;
        like.outputs = signature.output_ports(&attrs)?.into();
        like.attrs = attrs;
        like.device = to;
        Ok(self.part(to).push(like))
    }

    fn finish(mut self, order: &[NodeId]) -> Result<Vec<Part>> {
        for id in order {
            let node = self.work.node(*id);
            for (i, o) in node.inputs.iter().enumerate() {
                if self.work.node(o.node).op.class == Class::NextIteration
                    && let (Some(at), Some(back)) = (self.moved[id.at()], self.moved[o.node.at()])
                {
                    self.part(node.device).nodes[at.at()].inputs[i] = back.output(o.index);
                }
            }
        }
        let mut fetches: HashMap<u16, Vec<usize>> = HashMap::new();
        for (i, o) in self.work.fetches.iter().enumerate() {
            let device = self.work.node(o.node).device;
            if let Some(at) = self.moved[o.node.at()] {
                self.part(device).fetches.push(at.output(o.index));
                fetches.entry(device).or_default().push(i);
            }
        }
        for t in &self.work.targets {
            let device = self.work.node(*t).device;
            if let Some(at) = self.moved[t.at()] {
                self.part(device).targets.push(at);
            }
        }
        let mut parts: Vec<Part> = self
            .parts
            .into_iter()
            .map(|(device, work)| Part { device, work, fetches: fetches.remove(&device).unwrap_or_default() })
            .collect();
        parts.sort_by_key(|p| p.device);
        Ok(parts)
    }
}
