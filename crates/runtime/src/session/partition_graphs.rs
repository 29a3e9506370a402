//! The graphs that a callable runs, one for each device, for those who want to look at them.

use super::Callable;
use crate::partition::Part;
use crate::passes;
use crate::plan::work_order;
use crate::work::{Kind, Work, WorkNode};
use thalweg_core::attr::Attr;
use thalweg_core::error::Result;
use thalweg_graph::NodeSpec;

/// What runs on one device: pruned, simplified and cut, but before elementwise ops are fused into loops.
pub struct PartitionGraph {
    pub device: String,
    pub nodes: Vec<NodeSpec>,
}

impl Callable {
    pub fn partition_graphs(&self) -> Result<Vec<PartitionGraph>> {
        let placed = self.inner.graph.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let parts = self.inner.parts(&placed, &self.compiled.signature, passes::simplify)?;
        let device = |p: &Part| self.inner.devices[p.device as usize].name().to_string();
        let graph = |p: Part| Ok(PartitionGraph { device: device(&p), nodes: nodes(&p.work, &device(&p))? });
        parts.into_iter().map(graph).collect()
    }
}

fn nodes(work: &Work, device: &str) -> Result<Vec<NodeSpec>> {
    let order = work_order(work)?;
    Ok(order.iter().map(|id| spec(work, work.node(*id), device)).collect())
}

fn spec(work: &Work, node: &WorkNode, device: &str) -> NodeSpec {
    let data = node.inputs.iter().map(|o| match o.index {
        0 => work.node(o.node).name.to_string(),
        i => format!("{}:{i}", work.node(o.node).name),
    });
    let control = node.control.iter().map(|c| format!("^{}", work.node(*c).name));
    let mut attrs = node.attrs.clone();
    let dtype = node.outputs.first().map(|p| p.dtype);
    let op = match (&node.kind, dtype) {
        (Kind::Value(value), Some(dtype)) => {
            attrs = Default::default();
            attrs.set("dtype", dtype);
            attrs.set("value", Attr::Tensor(value.clone()));
            "Const"
        }
        (Kind::Feed(i), Some(dtype)) => {
            attrs.set("T", dtype);
            attrs.set("index", *i as i64);
            node.op.name
        }
        _ => node.op.name,
    };
    NodeSpec {
        name: node.name.to_string(),
        op: op.to_string(),
        inputs: data.chain(control).collect(),
        device: device.to_string(),
        attrs,
    }
}
