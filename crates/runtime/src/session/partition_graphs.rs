//! Partition graphs: what a signature is compiled to for each device, as node specs, to be inspected or run by other tasks.

use super::Callable;
use super::cluster::TaskGraph;
use crate::device::Device;
use crate::partition::Part;
use crate::until::Until;
use crate::work::{Kind, Work, WorkNode, work_order};
use std::collections::{HashMap, HashSet};
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::error::{Result, internal};
use thalweg_core::node::Output;
use thalweg_core::rendezvous::rendezvous_key;
use thalweg_graph::NodeSpec;

/// The graph of one device: pruned, simplified and partitioned, but not fused.
pub struct PartitionGraph {
    pub device: String,
    pub nodes: Vec<NodeSpec>,
}

impl Callable {
    pub fn partition_graphs(&self) -> Result<Vec<PartitionGraph>> {
        let placed = self.inner.graph.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let parts = self.inner.partitions(&placed, &self.compiled.signature, None, &Until::default())?;
        let device = |p: &Part| self.inner.devices[p.device as usize].name().to_string();
        let graph = |p: Part| {
            let named = NamedWork::new(&p.work, &mut HashSet::new())?;
            Ok(PartitionGraph { device: device(&p), nodes: named.nodes(&device(&p), &as_argument) })
        };
        parts.into_iter().map(graph).collect()
    }
}

/// A feed as `_Arg`, for inspection.
fn as_argument(node: &WorkNode, feed: usize) -> (&'static str, Attrs) {
    let mut attrs = node.attrs.clone();
    if let Some(port) = node.outputs.first() {
        attrs.set("T", port.dtype);
    }
    attrs.set("index", feed as i64);
    (node.op.name, attrs)
}

/// The graph for a task, from the parts of its devices. `feeds` names the tensors that are fed; the second result lists which of them the
/// task needs, and the third which fetches it computes, in the order of the graph's own lists.
pub fn task_graph(
    parts: &[Part],
    devices: &[Device],
    feeds: &[String],
) -> Result<(TaskGraph, Vec<usize>, Vec<usize>)> {
    let library = parts.first().map(|p| p.work.library.clone()).unwrap_or_default();
    let control_flow = |n: &WorkNode| matches!(n.kind, Kind::Op) && n.op.class.is_control_flow();
    let mut graph = TaskGraph {
        nodes: Vec::new(),
        library,
        feeds: Vec::new(),
        fetches: Vec::new(),
        has_control_flow: parts.iter().any(|p| p.work.nodes.iter().any(control_flow)),
    };
    let (mut fed, mut fetched) = (Vec::new(), Vec::new());
    let mut taken = HashSet::new();
    for part in parts {
        let device = &devices[part.device as usize];
        let named = NamedWork::new(&part.work, &mut taken)?;
        for feed in named.feeds() {
            let name = feeds.get(feed).ok_or_else(|| internal("a feed without a name"))?;
            graph.feeds.push(client_key(device, name));
            fed.push(feed);
        }
        let receive = |node: &WorkNode, feed: usize| {
            let mut attrs = client_attrs(device, feeds.get(feed).map_or("", String::as_str));
            if let Some(port) = node.outputs.first() {
                attrs.set("tensor_type", port.dtype);
            }
            ("_Recv", attrs)
        };
        graph.nodes.extend(named.nodes(device.name(), &receive));
        for (value, fetch) in part.work.fetches.iter().zip(&part.fetches) {
            let name = format!("fetch_{fetch}");
            graph.fetches.push(client_key(device, &name));
            fetched.push(*fetch);
            graph.nodes.push(named.send(*value, device, &name)?);
        }
    }
    Ok((graph, fed, fetched))
}

/// Attrs of a transfer from or to the client, which has the name of the device.
fn client_attrs(device: &Device, tensor: &str) -> Attrs {
    let mut attrs = Attrs::new();
    attrs.set("tensor_name", tensor);
    attrs.set("send_device", device.name());
    attrs.set("send_device_incarnation", device.context.incarnation as i64);
    attrs.set("recv_device", device.name());
    attrs.set("client_terminated", true);
    attrs
}

fn client_key(device: &Device, tensor: &str) -> String {
    rendezvous_key(device.name(), device.context.incarnation, device.name(), tensor, 0, 0)
}

/// A work graph with a unique name for each node.
struct NamedWork<'a> {
    work: &'a Work,
    order: Vec<thalweg_core::node::NodeId>,
    names: Vec<String>,
}

impl<'a> NamedWork<'a> {
    fn new(work: &'a Work, taken: &mut HashSet<String>) -> Result<NamedWork<'a>> {
        let order = work_order(work)?;
        let mut names = vec![String::new(); work.nodes.len()];
        // Uses of each name: a folded node with several outputs becomes several nodes of one name.
        let mut asked: HashMap<&str, usize> = HashMap::new();
        for id in &order {
            let base = &*work.node(*id).name;
            let n = asked.entry(base).or_default();
            let mut name = if *n == 0 { base.to_string() } else { format!("{base}_{n}") };
            while !taken.insert(name.clone()) {
                *n += 1;
                name = format!("{base}_{n}");
            }
            *n += 1;
            names[id.at()] = name;
        }
        Ok(NamedWork { work, order, names })
    }

    /// The numbers of the feeds it uses.
    fn feeds(&self) -> Vec<usize> {
        let feed = |id: &thalweg_core::node::NodeId| match self.work.node(*id).kind {
            Kind::Feed(i) => Some(i),
            _ => None,
        };
        self.order.iter().filter_map(feed).collect()
    }

    fn nodes(&self, device: &str, feed: &dyn Fn(&WorkNode, usize) -> (&'static str, Attrs)) -> Vec<NodeSpec> {
        self.order.iter().map(|id| self.spec(id.at(), device, feed)).collect()
    }

    fn tensor(&self, o: Output) -> String {
        match o.index {
            0 => self.names[o.node.at()].clone(),
            i => format!("{}:{i}", self.names[o.node.at()]),
        }
    }

    fn spec(
        &self,
        at: usize,
        device: &str,
        feed: &dyn Fn(&WorkNode, usize) -> (&'static str, Attrs),
    ) -> NodeSpec {
        let node = &self.work.nodes[at];
        let data = node.inputs.iter().map(|o| self.tensor(*o));
        let control = node.control.iter().map(|c| format!("^{}", self.names[c.at()]));
        let (op, attrs) = match (&node.kind, node.outputs.first()) {
            (Kind::Value(value), Some(port)) => {
                let mut attrs = Attrs::new();
                attrs.set("dtype", port.dtype);
                attrs.set("value", Attr::Tensor(value.clone()));
                ("Const", attrs)
            }
            (Kind::Feed(i), _) => feed(node, *i),
            _ => (node.op.name, node.attrs.clone()),
        };
        NodeSpec {
            name: self.names[at].clone(),
            op: op.to_string(),
            inputs: data.chain(control).collect(),
            device: device.to_string(),
            attrs,
        }
    }

    /// A node that sends a value to the client.
    fn send(&self, value: Output, device: &Device, name: &str) -> Result<NodeSpec> {
        let port = self.work.node(value.node).outputs.get(value.index as usize);
        let mut attrs = client_attrs(device, name);
        attrs.set("T", port.ok_or_else(|| internal("a fetch that is not there"))?.dtype);
        Ok(NodeSpec {
            name: format!("_send_{name}_{}", device.spec.index.unwrap_or(0)),
            op: "_Send".into(),
            inputs: vec![self.tensor(value)],
            device: device.name().to_string(),
            attrs,
        })
    }
}
