//! `Graph::splice`: the nodes of one graph as nodes of another.

use crate::graph::Graph;
use std::collections::HashMap;
use thalweg_core::attr::Attr;
use thalweg_core::error::Result;
use thalweg_core::node::{NodeId, Output};

impl Graph {
    /// Appends the nodes of another graph, named `prefix/..`, with its functions. Where they take an output that `instead` has, they take
    /// that of this graph. Returns by how much their ids grew.
    pub fn splice(&mut self, other: &Graph, prefix: &str, instead: &HashMap<Output, Output>) -> Result<u32> {
        for name in other.library.names() {
            self.library.add((**other.library.find(name)?).clone())?;
        }
        let first = u32::try_from(self.len()).unwrap_or(u32::MAX);
        let moved = |id: NodeId| NodeId(id.0.saturating_add(first));
        for node in other.nodes() {
            let mut node = node.clone();
            node.name = format!("{prefix}/{}", node.name).into();
            for input in &mut node.inputs {
                *input = match instead.get(input) {
                    Some(here) => *here,
                    None => moved(input.node).output(input.index),
                };
            }
            node.control.iter_mut().for_each(|id| *id = moved(*id));
            // Loops stay apart from those of other copies.
            if let Some(Attr::Str(frame)) = node.attrs.get("frame_name").cloned() {
                let frame = format!("{prefix}/{}", String::from_utf8_lossy(&frame));
                node.attrs.set("frame_name", Attr::str(&frame));
            }
            node.attrs.remove("_class");
            self.push(node)?;
        }
        Ok(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::NodeRequest;
    use crate::node::Node;
    use std::sync::Arc;
    use thalweg_core::builder::Arg;
    use thalweg_core::dtype::DataType;
    use thalweg_core::op::Op;
    use thalweg_core::registry::Registry;

    static MAKE: Op = Op { name: "Make", outputs: &["y: float"], ..Op::PURE };
    static ADD: Op =
        Op { name: "Add", inputs: &["a: float", "b: float"], outputs: &["y: float"], ..Op::PURE };
    static OPS: [&Op; 2] = [&MAKE, &ADD];

    fn add(graph: &mut Graph, op: &str, args: &[Output]) -> Output {
        let args = args.iter().map(|o| Arg::One(*o)).collect();
        graph.add_node(NodeRequest { op, args, ..Default::default() }).unwrap().output(0)
    }

    #[test]
    fn copies_take_inputs_of_the_graph_that_they_are_in() {
        let registry = Arc::new(Registry::new(&[&OPS]));
        let (mut inner, mut outer) = (Graph::new(registry.clone()), Graph::new(registry));
        let x = add(&mut inner, "Make", &[]);
        let y = add(&mut inner, "Make", &[]);
        let sum = add(&mut inner, "Add", &[x, y]);
        let given = add(&mut outer, "Make", &[]);
        for i in 0..2u32 {
            let moved = outer.splice(&inner, &format!("call{i}"), &HashMap::from([(x, given)])).unwrap();
            let copy: &Node = outer.node(NodeId(sum.node.0 + moved));
            assert_eq!(&*copy.name, format!("call{i}/Add"));
            assert_eq!(copy.inputs.as_slice(), [given, NodeId(y.node.0 + moved).output(0)]);
        }
        assert_eq!(outer.dtype(given), DataType::Float);
        assert!(outer.splice(&inner, "call0", &HashMap::new()).is_err());
    }
}
