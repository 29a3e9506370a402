//! A graph: op counts, placeholders, and nodes that nothing uses.

use super::{count, titled};
use crate::model_file;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use thalweg_core::error::Result;
use thalweg_proto::GraphDef;

/// Names shown of a list.
const SHOWN: usize = 12;

pub fn show(path: &Path) -> Result<String> {
    let graph = model_file::read(path)?;
    let mut ops: BTreeMap<&str, usize> = BTreeMap::new();
    graph.node.iter().for_each(|n| *ops.entry(&n.op).or_default() += 1);
    let registry = thalweg_ops::registry();
    let mut rows: Vec<(&str, usize)> = ops.into_iter().collect();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let functions: Vec<&str> = graph
        .library
        .iter()
        .flat_map(|l| &l.function)
        .filter_map(|f| f.signature.as_ref().map(|s| s.name.as_str()))
        .collect();
    let runs = |op: &str| registry.get(op).is_some() || functions.contains(&op);
    let row = |(op, n): (&str, usize)| {
        vec![op.to_string(), n.to_string(), if runs(op) { "" } else { "missing" }.into()]
    };
    Ok(format!(
        "graph of {}, {}, {}\n\n{}\nfeeds    {}\nresults  {}\n",
        count(graph.node.len(), "node"),
        count(functions.len(), "function"),
        count(rows.len(), "kind") + " of op",
        titled(&["op", "nodes", ""], "LRL", rows.iter().map(|r| row(*r))),
        some(&feeds(&graph)),
        some(&results(&graph)),
    ))
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
