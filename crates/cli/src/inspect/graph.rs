//! A graph: op counts, placeholders, nodes that nothing uses, and what it would touch outside of itself.

use super::{count, titled};
use crate::model_file;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use thalweg_core::error::Result;
use thalweg_proto::{GraphDef, NodeDef};

/// Names shown of a list.
const SHOWN: usize = 12;

/// Words in the names of ops that read or write files, talk to others, or run code of the program that made the graph.
const FILES: [&str; 11] = [
    "File",
    "Save",
    "Restore",
    "Checkpoint",
    "TFRecord",
    "TextLine",
    "Reader",
    "Snapshot",
    "RecordInput",
    "ImmutableConst",
    "Writer",
];
const NETWORK: [&str; 5] = ["Rpc", "DataService", "_Send", "_Recv", "Http"];
const CODE: [&str; 3] = ["PyFunc", "EagerPy", "TRTEngine"];

pub fn show(path: &Path) -> Result<String> {
    let graph = model_file::read(path)?;
    Ok([ops(&graph), ends(&graph), touched(&graph)].concat())
}

/// What can be fed, and what nothing uses.
pub fn ends(graph: &GraphDef) -> String {
    format!("\nfeeds    {}\nresults  {}\n", some(&feeds(graph)), some(&results(graph)))
}

/// How many nodes of which kinds are in a graph, with those of its functions.
pub fn ops(graph: &GraphDef) -> String {
    let library: Vec<_> = graph.library.iter().flat_map(|l| &l.function).collect();
    let functions: HashSet<&str> =
        library.iter().filter_map(|f| f.signature.as_ref().map(|s| s.name.as_str())).collect();
    let inside: usize = library.iter().map(|f| f.node_def.len()).sum();
    let mut ops: BTreeMap<&str, usize> = BTreeMap::new();
    nodes(graph).for_each(|n| *ops.entry(&n.op).or_default() += 1);
    let registry = thalweg_ops::registry();
    let mut rows: Vec<(&str, usize)> = ops.into_iter().collect();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let runs = |op: &str| registry.get(op).is_some() || functions.contains(op);
    let row = |(op, n): (&str, usize)| {
        vec![op.to_string(), n.to_string(), if runs(op) { "" } else { "missing" }.into()]
    };
    let in_functions = match functions.len() {
        0 => count(0, "function"),
        n => format!("{} with {}", count(n, "function"), count(inside, "node")),
    };
    format!(
        "graph of {}, {in_functions}, {}\n\n{}",
        count(graph.node.len(), "node"),
        count(rows.len(), "kind") + " of op",
        titled(&["op", "nodes", ""], "LRL", rows.iter().map(|r| row(*r))),
    )
}

/// All nodes, with those of functions.
fn nodes(graph: &GraphDef) -> impl Iterator<Item = &NodeDef> {
    let functions = graph.library.iter().flat_map(|l| &l.function);
    graph.node.iter().chain(functions.flat_map(|f| &f.node_def))
}

/// The ops that reach out of the graph: a line for each kind.
pub fn touched(graph: &GraphDef) -> String {
    let ops: BTreeSet<&str> = nodes(graph).map(|n| n.op.as_str()).collect();
    let kinds = [("files    ", &FILES[..]), ("network  ", &NETWORK), ("code     ", &CODE)];
    let line = |(title, words): (&str, &[&str])| {
        let found: Vec<&str> =
            ops.iter().filter(|op| words.iter().any(|w| op.contains(w))).copied().collect();
        if found.is_empty() { String::new() } else { format!("{title}{}\n", found.join(" ")) }
    };
    kinds.map(line).concat()
}

fn feeds(graph: &GraphDef) -> Vec<&str> {
    let fed = graph.node.iter().filter(|n| matches!(n.op.as_str(), "Placeholder" | "PlaceholderV2"));
    fed.map(|n| n.name.as_str()).collect()
}

/// Nodes without consumers.
fn results(graph: &GraphDef) -> Vec<&str> {
    let name = |input: &str| input.trim_start_matches('^').split(':').next().unwrap_or_default().to_string();
    let used: HashSet<String> = graph.node.iter().flat_map(|n| &n.input).map(|i| name(i)).collect();
    graph.node.iter().map(|n| n.name.as_str()).filter(|n| !used.contains(*n)).collect()
}

fn some(names: &[&str]) -> String {
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(" ");
    match names.len() {
        0 => "none".into(),
        n if n > SHOWN => format!("{shown} and {} more", n - SHOWN),
        _ => shown,
    }
}
