//! The part of a graph that some nodes need.

use crate::model_file;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use thalweg_core::error::{Result, not_found};
use thalweg_core::registry::did_you_mean;
use thalweg_io::durable;
use thalweg_proto::attr_value::Value;
use thalweg_proto::{GraphDef, NodeDef, encode, text};

pub fn run(graph: &Path, out: &Path, fetches: &[String]) -> Result<()> {
    let def = model_file::read(graph)?;
    write(out, &of(def, fetches.iter().map(String::as_str))?)
}

/// Writes a graph, as text to `.pbtxt`.
pub fn write(out: &Path, graph: &GraphDef) -> Result<()> {
    match out.extension().and_then(|e| e.to_str()) {
        Some("pbtxt") => durable::write(out, text::print_graph_def(graph).as_bytes()),
        _ => durable::write(out, &encode(graph)),
    }
}

/// The nodes that these tensors need, in their order, and the functions that those call.
pub fn of<'a>(mut graph: GraphDef, tensors: impl Iterator<Item = &'a str>) -> Result<GraphDef> {
    let needed = needed(&graph.node, tensors)?;
    graph.node.retain(|node| needed.contains(&node.name));
    let Some(library) = &mut graph.library else { return Ok(graph) };
    let called = called(&graph.node, &library.function);
    library.function.retain(|f| f.signature.as_ref().is_some_and(|s| called.contains(&s.name)));
    library.gradient.retain(|g| called.contains(&g.function_name));
    Ok(graph)
}

/// The node of an input: `^a`, `a`, `a:1`.
pub fn node_of(input: &str) -> &str {
    input.trim_start_matches('^').split(':').next().unwrap_or_default()
}

fn needed<'a>(nodes: &[NodeDef], tensors: impl Iterator<Item = &'a str>) -> Result<HashSet<String>> {
    let by_name: HashMap<&str, &NodeDef> = nodes.iter().map(|n| (n.name.as_str(), n)).collect();
    let mut found = HashSet::new();
    let mut to_visit: Vec<String> = tensors.map(|t| node_of(t).to_string()).collect();
    while let Some(name) = to_visit.pop() {
        let Some(node) = by_name.get(name.as_str()) else {
            let near = did_you_mean(by_name.keys().copied(), &name);
            return Err(not_found(format_args!("the graph has no node '{name}'{near}")));
        };
        if found.insert(name) {
            to_visit.extend(node.input.iter().map(|i| node_of(i).to_string()));
        }
    }
    Ok(found)
}

/// The functions that nodes call, directly or through others: by attr, or as their op.
fn called(nodes: &[NodeDef], functions: &[thalweg_proto::FunctionDef]) -> BTreeSet<String> {
    let by_name: HashMap<&str, &[NodeDef]> = functions
        .iter()
        .filter_map(|f| Some((f.signature.as_ref()?.name.as_str(), f.node_def.as_slice())))
        .collect();
    let mut found = BTreeSet::new();
    let mut to_visit: Vec<&[NodeDef]> = vec![nodes];
    while let Some(nodes) = to_visit.pop() {
        for name in nodes.iter().flat_map(names_in) {
            if let Some(body) = by_name.get(name)
                && found.insert(name.to_string())
            {
                to_visit.push(body);
            }
        }
    }
    found
}

fn names_in(node: &NodeDef) -> Vec<&str> {
    let mut names = vec![node.op.as_str()];
    for attr in node.attr.values() {
        match &attr.value {
            Some(Value::Func(f)) => names.push(&f.name),
            Some(Value::List(list)) => names.extend(list.func.iter().map(|f| f.name.as_str())),
            _ => {}
        }
    }
    names
}
