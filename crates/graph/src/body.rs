//! A graph as the body of a function: the inverse of `Function::instantiate`.

use crate::function::{Function, FunctionArg, FunctionType};
use crate::graph::Graph;
use crate::import::NodeSpec;
use std::collections::HashMap;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;

impl Function {
    /// The function of a graph: from its `_Arg` nodes, in this order, to these outputs. Stateful nodes always
    /// run.
    pub fn of_graph(name: &str, graph: &Graph, args: &[NodeId], results: &[Output]) -> Result<Function> {
        let argument = |id: &NodeId| FunctionArg {
            name: argument_name(&graph.node(*id).name),
            dtype: FunctionType::Fixed(graph.dtype(id.output(0))),
            number: None,
        };
        let names = Names { graph, args: args.iter().map(|id| (*id, argument(id).name)).collect() };
        let result_name = |i: usize| format!("result_{i}");
        let outputs = results.iter().enumerate().map(|(i, o)| FunctionArg {
            name: result_name(i),
            dtype: FunctionType::Fixed(graph.dtype(*o)),
            number: None,
        });
        let mut function = Function {
            name: name.to_string(),
            inputs: args.iter().map(argument).collect(),
            outputs: outputs.collect(),
            ..Default::default()
        };
        for (i, o) in results.iter().enumerate() {
            function.returns.insert(result_name(i), names.of(*o)?);
        }
        for id in graph.ids() {
            let node = graph.node(id);
            if node.op.class == Class::Argument {
                if !names.args.contains_key(&id) {
                    return Err(node.blame(invalid!("an argument that is not one of the function's")));
                }
                continue;
            }
            function.nodes.push(names.spec(id)?);
            if node.op.stateful {
                function.is_stateful = true;
                function.control_returns.insert(node.name.to_string(), node.name.to_string());
            }
        }
        Ok(function)
    }
}

/// A node name as an argument name: letters, digits and underscores.
fn argument_name(node: &str) -> String {
    node.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// Names of nodes and tensors in the body.
struct Names<'a> {
    graph: &'a Graph,
    args: HashMap<NodeId, String>,
}

impl Names<'_> {
    fn spec(&self, id: NodeId) -> Result<NodeSpec> {
        let node = self.graph.node(id);
        let mut inputs = node.inputs.iter().map(|o| self.of(*o)).collect::<Result<Vec<_>>>()?;
        let after = node.control.iter().filter(|id| !self.args.contains_key(id));
        inputs.extend(after.map(|id| format!("^{}", self.graph.node(*id).name)));
        Ok(NodeSpec {
            name: node.name.to_string(),
            op: node.op.name.to_string(),
            inputs,
            device: node.device.to_string(),
            attrs: node.attrs.clone(),
        })
    }

    /// An argument's name, or `node:output_argument:index`.
    fn of(&self, o: Output) -> Result<String> {
        if let Some(argument) = self.args.get(&o.node) {
            return Ok(argument.clone());
        }
        let node = self.graph.node(o.node);
        let signature = self.graph.signature(node.op)?;
        let ranges = signature.output_ranges(&node.attrs)?;
        let at = o.index as usize;
        let found = signature.outputs.iter().zip(ranges).find(|(_, range)| range.contains(&at));
        match found {
            Some((arg, range)) => Ok(format!("{}:{}:{}", node.name, arg.name, at - range.start)),
            None => Err(node.blame(invalid!("there is no output {at}"))),
        }
    }
}
