//! Nodes as NodeDef.

use thalweg_core::error::Result;
use thalweg_graph::NodeSpec;
use thalweg_graph::convert::attrs_to_proto;
use thalweg_proto::NodeDef;

pub fn node_def(node: &NodeSpec) -> Result<NodeDef> {
    Ok(NodeDef {
        name: node.name.clone(),
        op: node.op.clone(),
        input: node.inputs.clone(),
        device: node.device.clone(),
        attr: attrs_to_proto(&node.attrs)?,
        ..Default::default()
    })
}
