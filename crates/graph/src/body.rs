//! A graph as the body of a function: the inverse of `Function::instantiate`.

use crate::function::{Function, FunctionArg, FunctionType};
use crate::graph::Graph;
use crate::import::NodeSpec;
use std::collections::{HashMap, HashSet};
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;

/// What of a graph a function consists of.
#[derive(Clone, Debug, Default)]
pub struct FunctionParts<'a> {
    /// The nodes of the body; `None`: all but those of the inputs.
    pub nodes: Option<&'a [NodeId]>,
    pub inputs: &'a [Output],
    pub results: &'a [Output],
    /// One for each result, or none: they are named after their nodes.
    pub result_names: &'a [String],
    /// Nodes that run whether or not a result needs them, by the name that callers know them by.
    pub control: &'a [(String, NodeId)],
}

impl Function {
    /// The function of a graph: from its `_Arg` nodes, in this order, to these outputs. Stateful nodes always
    /// run.
    pub fn of_graph(name: &str, graph: &Graph, args: &[NodeId], results: &[Output]) -> Result<Function> {
        let given = |id: NodeId| args.contains(&id);
        let is_argument = |id: &NodeId| graph.node(*id).op.class == Class::Argument;
        if let Some(id) = graph.ids().find(|id| is_argument(id) && !given(*id)) {
            return Err(graph.node(id).blame(invalid!("an argument that is not one of the function's")));
        }
        let nodes: Vec<NodeId> = graph.ids().filter(|id| !is_argument(id)).collect();
        let arg_names = args.iter().map(|id| argument_name(&graph.node(*id).name)).collect();
        let result_names: Vec<String> = (0..results.len()).map(|i| format!("result_{i}")).collect();
        let inputs: Vec<Output> = args.iter().map(|id| id.output(0)).collect();
        let parts = FunctionParts {
            nodes: Some(&nodes),
            inputs: &inputs,
            results,
            result_names: &result_names,
            control: &[],
        };
        made(name, graph, &parts, arg_names)
    }

    /// The function from any outputs of a graph to any others. Argument names follow from those of the nodes. Stateful nodes always run.
    pub fn of_parts(name: &str, graph: &Graph, parts: &FunctionParts<'_>) -> Result<Function> {
        let mut taken = HashSet::new();
        let arg_names: Vec<String> =
            parts.inputs.iter().map(|o| unique(&mut taken, &graph.node(o.node).name)).collect();
        let inputs: HashSet<NodeId> = parts.inputs.iter().map(|o| o.node).collect();
        let all: Vec<NodeId> = match parts.nodes {
            Some(nodes) => nodes.to_vec(),
            None => graph.ids().filter(|id| !inputs.contains(id)).collect(),
        };
        let named: Vec<String> = match parts.result_names {
            [] => parts.results.iter().map(|o| unique(&mut taken, &graph.node(o.node).name)).collect(),
            given => given.to_vec(),
        };
        if named.len() != parts.results.len() {
            return Err(invalid!("{} results have {} names", parts.results.len(), named.len()));
        }
        let parts = FunctionParts { nodes: Some(&all), result_names: &named, ..parts.clone() };
        made(name, graph, &parts, arg_names)
    }
}

fn made(name: &str, graph: &Graph, parts: &FunctionParts<'_>, arg_names: Vec<String>) -> Result<Function> {
    let arg = |name: &String, o: &Output| FunctionArg {
        name: name.clone(),
        dtype: FunctionType::Fixed(graph.dtype(*o)),
        number: None,
    };
    let body: HashSet<NodeId> = parts.nodes.unwrap_or_default().iter().copied().collect();
    let mut args: HashMap<Output, String> = HashMap::new();
    for (o, name) in parts.inputs.iter().zip(&arg_names) {
        if args.insert(*o, name.clone()).is_some() {
            return Err(invalid!("TF_Output {} appears more than once in inputs", graph.tensor_name(*o)));
        }
    }
    let names = Names { graph, args, body: &body };
    let mut function = Function {
        name: name.to_string(),
        inputs: arg_names.iter().zip(parts.inputs).map(|(n, o)| arg(n, o)).collect(),
        outputs: parts.result_names.iter().zip(parts.results).map(|(n, o)| arg(n, o)).collect(),
        ..Default::default()
    };
    for (o, name) in parts.results.iter().zip(parts.result_names) {
        function.returns.insert(name.clone(), names.of(*o)?);
    }
    for id in graph.ids().filter(|id| body.contains(id)) {
        let node = graph.node(id);
        function.nodes.push(names.spec(id)?);
        if node.op.stateful {
            function.is_stateful = true;
            function.control_returns.insert(node.name.to_string(), node.name.to_string());
        }
    }
    for (name, id) in parts.control {
        if !body.contains(id) {
            return Err(graph
                .node(*id)
                .blame(invalid!("a control output that is not in the function's body")));
        }
        function.control_returns.insert(name.clone(), graph.node(*id).name.to_string());
    }
    Ok(function)
}

/// A node name as an argument name: letters, digits and underscores.
fn argument_name(node: &str) -> String {
    node.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect()
}

/// As `argument_name`, starting with a letter, and with a number if it is taken.
fn unique(taken: &mut HashSet<String>, node: &str) -> String {
    let base = argument_name(node);
    let base = base.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    let base = if base.is_empty() { "unknown" } else { base };
    let numbered = (0..).map(|i| format!("{base}_{i}"));
    let name = std::iter::once(base.to_string()).chain(numbered).find(|n| !taken.contains(n));
    let name = name.unwrap_or_default();
    taken.insert(name.clone());
    name
}

/// Names of nodes and tensors in the body.
struct Names<'a> {
    graph: &'a Graph,
    args: HashMap<Output, String>,
    body: &'a HashSet<NodeId>,
}

impl Names<'_> {
    fn spec(&self, id: NodeId) -> Result<NodeSpec> {
        let node = self.graph.node(id);
        let mut inputs = node.inputs.iter().map(|o| self.of(*o)).collect::<Result<Vec<_>>>()?;
        let is_argument = |id: &NodeId| self.args.keys().any(|o| o.node == *id) && !self.body.contains(id);
        for before in node.control.iter().filter(|id| !is_argument(id)) {
            let name = &self.graph.node(*before).name;
            if !self.body.contains(before) {
                return Err(node.blame(invalid!("the control input '{name}' is not in the function's body")));
            }
            inputs.push(format!("^{name}"));
        }
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
        if let Some(argument) = self.args.get(&o) {
            return Ok(argument.clone());
        }
        let node = self.graph.node(o.node);
        if !self.body.contains(&o.node) {
            let tensor = self.graph.tensor_name(o);
            return Err(invalid!("'{tensor}' is neither in the function's body nor one of its inputs"));
        }
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
