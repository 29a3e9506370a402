//! Partitioning: the work graph is split by device, with a Send and a Recv for every data or control edge that crosses.

mod control_loops;
mod late_recvs;

use crate::device::Device;
use crate::work::{Kind, Work, WorkNode, work_order};
use control_loops::{Loops, add_control_loops};
use late_recvs::RecvDelays;
pub use late_recvs::RecvPrefetch;
use smallvec::SmallVec;
use std::collections::HashMap;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;
use thalweg_core::tensor::Tensor;

/// The part of one device: its graph, and which of the fetches it computes.
pub struct Part {
    pub device: u16,
    pub work: Work,
    pub fetches: Vec<usize>,
}

/// Splits a work graph by device. One device: one part, nothing added.
pub fn partition(mut work: Work, devices: &[Device], prefetch: RecvPrefetch<'_>) -> Result<Vec<Part>> {
    if devices.len() == 1 {
        let fetches = (0..work.fetches.len()).collect();
        return Ok(vec![Part { device: 0, work, fetches }]);
    }
    let order = work_order(&work)?;
    let first = order.first().map_or(0, |id| work.node(*id).device);
    if order.iter().all(|id| {
        work.node(*id).device == first || matches!(work.node(*id).kind, Kind::Feed(_) | Kind::Value(_))
    }) {
        let fetches = (0..work.fetches.len()).collect();
        return Ok(vec![Part { device: first, work, fetches }]);
    }
    let (loops, order) = if work.has_control_flow {
        let loops = add_control_loops(&mut work)?;
        (loops, work_order(&work)?)
    } else {
        (Loops::default(), order)
    };
    let mut partitioner = Partitioner::new(&work, devices, &loops);
    partitioner.delays = prefetch.delays(&work, &order);
    for id in &order {
        partitioner.copy(*id)?;
    }
    partitioner.finish(&order)
}

struct Partitioner<'a> {
    work: &'a Work,
    devices: &'a [Device],
    loops: &'a Loops,
    parts: HashMap<u16, Work>,
    moved: Vec<Option<NodeId>>,
    /// Received outputs, by tensor and destination: one Recv for each pair.
    received: HashMap<(Output, u16), Output>,
    received_control: HashMap<(NodeId, u16), NodeId>,
    /// Recvs outside of loops that are delayed.
    delays: RecvDelays,
    /// Recvs, by device, and the node they wait for: the start of their loop, or the cause of their delay. Applied when all nodes are copied.
    waiting: Vec<(u16, NodeId, NodeId)>,
    edges: usize,
}

impl<'a> Partitioner<'a> {
    fn new(work: &'a Work, devices: &'a [Device], loops: &'a Loops) -> Self {
        Partitioner {
            work,
            devices,
            loops,
            parts: HashMap::new(),
            moved: vec![None; work.nodes.len()],
            received: HashMap::new(),
            received_control: HashMap::new(),
            delays: RecvDelays::new(),
            waiting: Vec::new(),
            edges: 0,
        }
    }

    fn part(&mut self, device: u16) -> &mut Work {
        let work = self.work;
        self.parts.entry(device).or_insert_with(|| {
            let mut part = Work::empty(work.registry.clone(), work.library.clone(), work.until.clone());
            part.has_control_flow = work.has_control_flow;
            part
        })
    }

    fn copy(&mut self, id: NodeId) -> Result<()> {
        self.work.check_now_and_then(id)?;
        let node = self.work.node(id);
        let mut copy = node.clone();
        copy.inputs = SmallVec::new();
        for o in &node.inputs {
            // A NextIteration is on the device of its Merge, and copied later.
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

    /// The output in the part of `device`.
    fn input(&mut self, o: Output, device: u16) -> Result<Output> {
        let from = self.work.node(o.node);
        let here = self.moved[o.node.at()].unwrap_or(o.node);
        if from.device == device {
            return Ok(here.output(o.index));
        }
        if let Some(r) = self.received.get(&(o, device)) {
            return Ok(*r);
        }
        // Constants and feeds are copied to every device.
        if matches!(from.kind, Kind::Value(_) | Kind::Feed(_)) && from.control.is_empty() {
            let copied = self.part(device).push(from.clone()).output(0);
            self.received.insert((o, device), copied);
            return Ok(copied);
        }
        let dtype = from.outputs[o.index as usize].dtype;
        let received = self.transfer(here.output(o.index), dtype, o.node, device)?.output(0);
        if let Some(node) = self.delays.get(&(o, device)) {
            self.waiting.push((device, received.node, *node));
        }
        self.received.insert((o, device), received);
        Ok(received)
    }

    /// The control input on `device` for `before`.
    fn control(&mut self, before: NodeId, device: u16) -> Result<NodeId> {
        let from = self.work.node(before);
        let here = self.moved[before.at()].unwrap_or(before);
        if from.device == device {
            return Ok(here);
        }
        if let Some(r) = self.received_control.get(&(before, device)) {
            return Ok(*r);
        }
        // A control edge crosses as a scalar, which is sent when `before` has run.
        let mut attrs = Attrs::new();
        attrs.set("dtype", DataType::Float);
        attrs.set("value", Attr::Tensor(Tensor::scalar(0f32)));
        let token = self.part(from.device).add(here, "done", "Const", &[], &[here], attrs)?;
        let received = self.transfer(token.output(0), DataType::Float, before, device)?;
        // A Recv of a dead tensor is not dead itself; the user of its output is.
        let mut attrs = Attrs::new();
        attrs.set("T", DataType::Float);
        let part = self.part(device);
        let forwarded = part.add(received, "told", "Identity", &[received.output(0)], &[], attrs)?;
        self.received_control.insert((before, device), forwarded);
        Ok(forwarded)
    }

    /// Adds a Send of `value`, which is `source` in the part of its device, and the Recv for it on another.
    fn transfer(&mut self, value: Output, dtype: DataType, source: NodeId, to: u16) -> Result<NodeId> {
        self.edges += 1;
        let from = self.work.node(source);
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
        let op = self.work.registry.find("_Recv")?;
        let signature = self.work.registry.signature(op)?;
        signature.complete(&mut attrs)?;
        let recv = WorkNode {
            name: format!("{}/_S{}", from.name, 2 * n + 1).into(),
            op,
            kind: Kind::Op,
            outputs: signature.output_ports(&attrs)?.into(),
            attrs,
            inputs: SmallVec::new(),
            control: SmallVec::new(),
            device: to,
            location: from.location,
        };
        let received = self.part(to).push(recv);
        if let Some(start) = self.loops.start(source, to) {
            // The start of the loop may be copied later.
            self.waiting.push((to, received, start));
        }
        Ok(received)
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
        for (device, received, start) in std::mem::take(&mut self.waiting) {
            if let Some(start) = self.moved[start.at()] {
                self.part(device).nodes[received.at()].control.push(start);
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
