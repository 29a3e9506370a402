//! A signature as a graph without variables: calls inlined, reads of variables replaced by constants.

use super::subgraph::{self, node_of};
use std::collections::HashMap;
use std::path::Path;
use thalweg::SavedModel;
use thalweg::saved_model::{LoadOptions, TensorInfo};
use thalweg_core::attr::Attr;
use thalweg_core::builder::Arg;
use thalweg_core::error::{Result, internal, unimplemented};
use thalweg_core::node::Output;
use thalweg_core::tensor::Tensor;
use thalweg_graph::calls::expand_between;
use thalweg_graph::{Graph, NodeRequest};
use thalweg_io::wire::tensor_to_proto;
use thalweg_proto::attr_value::Value;
use thalweg_proto::{AttrValue, GraphDef, NodeDef};

/// Ops that read a variable; the last also takes indices.
const READ: &str = "ReadVariableOp";
const GATHER: &str = "ResourceGather";
const HANDLE: &str = "VarHandleOp";
const REFERENCES: [&str; 2] = ["VariableV2", "Variable"];

/// Writes the frozen graph; returns the tensors that are fed and fetched.
pub fn run(model: &Path, out: &Path, signature: Option<&str>, tags: Option<Vec<String>>) -> Result<String> {
    let model = SavedModel::load_with(model, LoadOptions { tags, ..Default::default() })?;
    let signature = match signature {
        Some(name) => model.signature(name)?,
        None => model.serving_default()?,
    };
    let (inputs, outputs) = (names(signature.inputs()), names(signature.outputs()));
    let def = inlined(&model, &inputs, &outputs)?;
    let def = subgraph::of(def, outputs.iter().map(String::as_str))?;
    let frozen = replaced(&model, def)?;
    // The nodes of handles are not needed any more.
    let frozen = subgraph::of(frozen, outputs.iter().map(String::as_str))?;
    check(&frozen)?;
    subgraph::write(out, &frozen)?;
    let line = |kind: &str, t: &TensorInfo| format!("{kind} {t}: {}\n", t.tensor);
    let inputs = signature.inputs().iter().map(|t| line("feed ", t));
    Ok(inputs.chain(signature.outputs().iter().map(|t| line("fetch", t))).collect())
}

fn names(tensors: &[TensorInfo]) -> Vec<String> {
    tensors.iter().map(|t| t.tensor.clone()).collect()
}

/// No variable is left.
fn check(frozen: &GraphDef) -> Result<()> {
    let Some(variable) = frozen.node.iter().find(|n| n.op == HANDLE) else { return Ok(()) };
    let uses = |n: &&NodeDef| n.input.iter().any(|i| node_of(i) == variable.name);
    let users: Vec<&str> = frozen.node.iter().filter(uses).map(|n| n.op.as_str()).collect();
    let e =
        format!("the variable '{}' is used by {}, which cannot be frozen", variable.name, users.join(", "));
    Err(unimplemented(e))
}

/// The graph with the calls between inputs and outputs inlined.
fn inlined(model: &SavedModel, inputs: &[String], outputs: &[String]) -> Result<GraphDef> {
    let mut graph: Graph = model.session().with_graph(Graph::clone);
    let find = |graph: &Graph, names: &[String]| {
        names.iter().map(|n| graph.output(n)).collect::<Result<Vec<Output>>>()
    };
    let (ys, mut xs) = (find(&graph, outputs)?, find(&graph, inputs)?);
    // A call that no input reaches is inlined too: it may read variables.
    xs.extend(graph.ids().filter(|id| graph.node(*id).inputs.is_empty()).map(|id| id.output(0)));
    expand_between(&mut graph, &ys, &xs)?;
    graph.to_def(Default::default())
}

/// The values of variables, by the name of their node.
fn values(model: &SavedModel, nodes: &[&NodeDef]) -> Result<HashMap<String, Tensor>> {
    let session = model.session();
    let mut reads = Vec::new();
    session.extend_with(|graph| {
        for node in nodes {
            let tensor = graph.output(&node.name)?;
            if node.op != HANDLE {
                reads.push(tensor);
                continue;
            }
            let name = graph.unique_name("freeze/read");
            let dtype = graph.node(tensor.node).attrs.dtype("dtype")?;
            let attrs = [("dtype", Attr::Type(dtype))].into_iter().collect();
            let args = vec![Arg::from(tensor)];
            let read =
                graph.add_node(NodeRequest { op: READ, name: &name, args, attrs, ..Default::default() })?;
            reads.push(read.output(0));
        }
        Ok(())
    })?;
    let values = session.callable(&[], &reads, &[])?.run(Vec::new())?;
    Ok(nodes.iter().map(|n| n.name.clone()).zip(values).collect())
}

/// The graph with constants for reads of variables.
fn replaced(model: &SavedModel, mut graph: GraphDef) -> Result<GraphDef> {
    let is_variable = |n: &&NodeDef| n.op == HANDLE || REFERENCES.contains(&n.op.as_str());
    let variables: Vec<&NodeDef> = graph.node.iter().filter(is_variable).collect();
    let values = values(model, &variables)?;
    let sources = sources(&graph.node);
    let mut added = Vec::new();
    for node in &mut graph.node {
        let variable = node.input.first().and_then(|input| sources.get(node_of(input)));
        match (node.op.as_str(), variable.and_then(|v| values.get(v))) {
            (READ, Some(value)) => *node = constant(&node.name, value)?,
            (GATHER, Some(value)) => gather(node, value, &mut added)?,
            (op, _) if REFERENCES.contains(&op) => {
                let value = values.get(&node.name).ok_or_else(|| internal("a variable without a value"))?;
                *node = constant(&node.name, value)?;
            }
            _ => {}
        }
    }
    graph.node.splice(0..0, added);
    Ok(graph)
}

/// The handle's node that the first output of a node passes on: itself, or through identities.
fn sources(nodes: &[NodeDef]) -> HashMap<String, String> {
    let by_name: HashMap<&str, &NodeDef> = nodes.iter().map(|n| (n.name.as_str(), n)).collect();
    let mut found = HashMap::new();
    for node in nodes {
        let (mut at, mut hops) = (Some(node), 0);
        while let Some(n) = at.filter(|n| n.op == "Identity" && hops <= nodes.len()) {
            at = n.input.first().and_then(|i| by_name.get(node_of(i)).copied());
            hops += 1;
        }
        if let Some(handle) = at.filter(|n| n.op == HANDLE) {
            found.insert(node.name.clone(), handle.name.clone());
        }
    }
    found
}

fn attr(value: Value) -> AttrValue {
    AttrValue { value: Some(value) }
}

fn constant(name: &str, value: &Tensor) -> Result<NodeDef> {
    let attrs = [
        ("dtype".to_string(), attr(Value::Type(value.dtype().wire()))),
        ("value".to_string(), attr(Value::Tensor(Box::new(tensor_to_proto(value)?)))),
    ];
    Ok(NodeDef {
        name: name.into(),
        op: "Const".into(),
        attr: attrs.into_iter().collect(),
        ..Default::default()
    })
}

/// `ResourceGather` of a variable becomes `GatherV2` of a constant.
fn gather(node: &mut NodeDef, value: &Tensor, added: &mut Vec<NodeDef>) -> Result<()> {
    if node.attr.get("batch_dims").is_some_and(|a| matches!(a.value, Some(Value::I(n)) if n != 0)) {
        return Ok(());
    }
    let (params, axis) = (format!("{}/params", node.name), format!("{}/axis", node.name));
    added.push(constant(&params, value)?);
    added.push(constant(&axis, &Tensor::scalar(0i32))?);
    let indices = node.input.get(1).cloned().unwrap_or_default();
    let index_type = node.attr.get("Tindices").cloned().unwrap_or_default();
    let attrs = [
        ("Tparams".to_string(), attr(Value::Type(value.dtype().wire()))),
        ("Tindices".to_string(), index_type),
        ("Taxis".to_string(), attr(Value::Type(thalweg_core::dtype::DataType::Int32.wire()))),
    ];
    *node = NodeDef {
        name: node.name.clone(),
        op: "GatherV2".into(),
        input: vec![params, indices, axis],
        attr: attrs.into_iter().collect(),
        ..Default::default()
    };
    Ok(())
}
