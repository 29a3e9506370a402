//! Graphs of clients and files: imported, with shape inference, and compiled.

use std::sync::{Arc, OnceLock};
use std::time::Duration;
use thalweg_core::cancel::Cancellation;
use thalweg_core::registry::Registry;
use thalweg_graph::Graph;
use thalweg_proto::{GraphDef, SavedModel, decode, text};
use thalweg_runtime::{RunOptions, Session, SessionOptions};

pub fn registry() -> &'static Arc<Registry> {
    static REGISTRY: OnceLock<Arc<Registry>> = OnceLock::new();
    REGISTRY.get_or_init(|| Arc::new(thalweg_ops::registry()))
}

/// Ops with side effects outside of memory are not run.
fn is_harmless(def: &GraphDef) -> bool {
    let touches = |op: &str| {
        ["File", "Save", "Restore", "Checkpoint", "Summary", "Print", "Reader", "Record", "Dataset"]
            .iter()
            .any(|part| op.contains(part))
    };
    let functions = def.library.iter().flat_map(|l| &l.function).flat_map(|f| &f.node_def);
    !def.node.iter().chain(functions).any(|n| touches(&n.op))
}

/// Imports a graph, and runs its last nodes with a short timeout.
fn load(def: &GraphDef) {
    let Ok(graph) = Graph::from_def(registry().clone(), def) else { return };
    if graph.len() > 500 || !is_harmless(def) {
        return;
    }
    let options = SessionOptions { threads: 1, ..Default::default() };
    let Ok(session) = Session::of(&graph, options) else { return };
    let cancel = Arc::<Cancellation>::default();
    let limit = RunOptions {
        timeout: Some(Duration::from_millis(50)),
        cancel: Some(cancel.clone()),
        ..Default::default()
    };
    for node in graph.nodes().iter().rev().take(3) {
        let _ = session.run_with(&[], &[], &[&node.name], &limit);
    }
}

pub fn graph_def(bytes: &[u8]) {
    if let Ok(def) = decode::<GraphDef>(bytes.to_vec()) {
        load(&def);
    }
}

pub fn graph_text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(def) = text::parse_graph_def(text) else { return };
    let printed = text::print_graph_def(&def);
    assert!(text::parse_graph_def(&printed).is_ok_and(|again| again == def), "not printed as it was read");
    load(&def);
}

pub fn saved_model(bytes: &[u8]) {
    let Ok(model) = decode::<SavedModel>(bytes.to_vec()) else { return };
    model.meta_graphs.iter().filter_map(|m| m.graph_def.as_ref()).for_each(load);
}
