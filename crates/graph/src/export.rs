//! Graph to GraphDef.

use crate::convert::attrs_to_proto;
use crate::graph::Graph;
use thalweg_core::attr::Attr;
use thalweg_core::error::Result;
use thalweg_core::node::NodeId;
use thalweg_proto::{GraphDef, NodeDef, VersionDef};

#[derive(Clone, Copy, Debug, Default)]
pub struct ExportOptions {
    /// Omit attrs that have their default value, as for other versions.
    pub strip_defaults: bool,
    /// Add the inferred shapes, as attr `_output_shapes`.
    pub output_shapes: bool,
}

impl Graph {
    pub fn to_def(&self, options: ExportOptions) -> Result<GraphDef> {
        Ok(GraphDef {
            node: self.node_defs(options)?,
            versions: Some(VersionDef { producer: self.producer, ..Default::default() }),
            library: Some(self.library.to_proto()?),
            ..Default::default()
        })
    }

    /// All nodes, including unread ones, in the order of import.
    fn node_defs(&self, options: ExportOptions) -> Result<Vec<NodeDef>> {
        let mut defs = Vec::with_capacity(self.len());
        let mut unread = self.unread.iter().peekable();
        for id in self.ids() {
            while let Some(n) = unread.next_if(|n| n.after <= id.at()) {
                defs.push((*n.def).clone());
            }
            defs.push(self.node_def(id, options)?);
        }
        defs.extend(unread.map(|n| (*n.def).clone()));
        Ok(defs)
    }

    /// One node as a message.
    pub fn node_def(&self, id: NodeId, options: ExportOptions) -> Result<NodeDef> {
        let node = self.node(id);
        let mut attrs = node.attrs.clone();
        if options.strip_defaults {
            self.signature(node.op)?.strip_defaults(&mut attrs);
        }
        if options.output_shapes && !node.shapes.is_empty() {
            let shapes = node.shapes.iter().cloned().map(Attr::Shape).collect();
            attrs.set("_output_shapes", Attr::List(shapes));
        }
        let data = node.inputs.iter().map(|o| match o.index {
            0 => self.node(o.node).name.to_string(),
            i => format!("{}:{i}", self.node(o.node).name),
        });
        let control = node.control.iter().map(|id| format!("^{}", self.node(*id).name));
        Ok(NodeDef {
            name: node.name.to_string(),
            op: node.op.name.to_string(),
            input: data.chain(control).collect(),
            device: node.device.to_string(),
            attr: attrs_to_proto(&attrs).map_err(|e| node.blame(e))?,
            ..Default::default()
        })
    }
}
