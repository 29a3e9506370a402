//! What is run: the graph of a file or of a SavedModel, and the steps that restore its variables.

use super::{Args, session::AnySession};
use crate::looks;
use std::path::Path;
use std::sync::Arc;
use thalweg::saved_model::{StateStep, restore_step, state_steps};
use thalweg::{DataType, Output, Scope};
use thalweg_core::attr::Attr;
use thalweg_core::error::{Error, Result, data_loss, not_found};
use thalweg_core::tensor::Tensor;
use thalweg_graph::Graph;
use thalweg_io::bundle::BundleReader;
use thalweg_io::graph_file::GraphFile;
use thalweg_io::{durable, saved_model};
use thalweg_proto::MetaGraphDef;
use thalweg_runtime::RunOptions;

pub struct Source {
    pub graph: Graph,
    steps: Vec<StateStep>,
}

impl Source {
    pub fn open(args: &Args) -> Result<Source> {
        let path = &args.graph;
        let at = |e: Error| e.context(path.display());
        let (mut meta, directory) = match path.is_dir() {
            true => (saved_model::select(saved_model::read(path)?, args.tags()).map_err(at)?, Some(path)),
            false => (meta_graph(path, args)?, None),
        };
        let def = meta.graph_def.take().ok_or_else(|| at(data_loss("it has no graph")))?;
        let mut graph = Graph::from_def(Arc::new(thalweg_ops::registry()), &def)?;
        drop(def);
        let mut steps = match directory {
            Some(directory) => state_steps(directory, &meta).map_err(at)?,
            None => Vec::new(),
        };
        if let Some(prefix) = &args.checkpoint {
            let has_saver = meta.saver_def.as_ref().is_some_and(|s| !s.restore_op_name.is_empty());
            if !has_saver {
                meta.saver_def = Some(add_saver(&mut graph, prefix)?);
            }
            // Before the initialiser of a SavedModel, and instead of its own variables.
            steps.retain(|step| directory.is_none() || !is_restore(step, &meta));
            steps.insert(0, restore_step(&meta, prefix)?);
        }
        Ok(Source { graph, steps })
    }

    /// Brings the variables and tables of a session into their state.
    pub fn restore(&self, session: &AnySession, options: &RunOptions) -> Result<()> {
        for step in &self.steps {
            let names: Vec<&str> = step.feeds.iter().map(|f| f.0.as_str()).collect();
            let values = step.feeds.iter().map(|f| f.1.clone()).collect();
            session.step(&names, &[], &[&step.target])?.run(values, options)?;
        }
        Ok(())
    }
}

fn is_restore(step: &StateStep, meta: &MetaGraphDef) -> bool {
    meta.saver_def.as_ref().is_some_and(|s| s.restore_op_name == step.target)
}

/// The graph of a file, with its saver if it is a MetaGraphDef.
fn meta_graph(path: &Path, args: &Args) -> Result<MetaGraphDef> {
    match GraphFile::read(path).map_err(|e| looks::hinted(e, path))? {
        GraphFile::Graph(graph) => Ok(MetaGraphDef { graph_def: Some(*graph), ..Default::default() }),
        GraphFile::Meta(meta) => Ok(*meta),
        GraphFile::Saved(model) => {
            saved_model::select(model, args.tags()).map_err(|e| durable::with_path(path, e))
        }
    }
}

/// Nodes that restore each variable of the graph that the checkpoint has, for a graph that came without its saver.
fn add_saver(graph: &mut Graph, prefix: &Path) -> Result<thalweg_proto::SaverDef> {
    let reader = BundleReader::open(prefix)?;
    let scope = Scope::of(graph.clone());
    let g = scope.name_scope("restore");
    let mut assigned = Vec::new();
    let filename = g.placeholder(DataType::String, &[]);
    for node in graph.nodes().iter().filter(|node| node.inputs.is_empty()) {
        let contents = node.op.handle_contents.and_then(|rule| rule(&node.attrs));
        let reference = node.outputs.first().filter(|o| o.is_ref).map(|o| o.dtype);
        let Some(dtype) = contents.as_ref().map(|c| c.0).or(reference) else { continue };
        let shared = node.attrs.str("shared_name").unwrap_or_default();
        let Some(key) = [shared, &*node.name].into_iter().find(|name| reader.contains(name)) else {
            continue;
        };
        let variable = scope.output(&node.name)?;
        let assign = g.op(if contents.is_some() { "AssignVariableOp" } else { "Assign" });
        assigned.push(assign.input(&variable).input(restored(&g, &filename, key, dtype)).build());
    }
    if assigned.is_empty() {
        let names: Vec<String> = reader.names().take(4).collect();
        let e = format!("no variable of the graph is in the checkpoint, which has {} ..", names.join(", "));
        return Err(not_found(e).context(prefix.display()));
    }
    let all = g.control_dependencies(&assigned).op("NoOp").name("restore_all").build();
    *graph = scope.graph()?;
    Ok(thalweg_proto::SaverDef {
        filename_tensor_name: filename.name(),
        restore_op_name: all.name(),
        ..Default::default()
    })
}

fn restored(g: &Scope, filename: &Output, key: &str, dtype: DataType) -> Output {
    let one = |text: &str| g.constant(vec![text]);
    let restore = g.op("RestoreV2").input(filename).input(one(key)).input(one(""));
    let outputs = restore.attr("dtypes", Attr::types(&[dtype])).outputs();
    outputs.into_iter().next().unwrap_or_else(|| g.constant(Tensor::scalar(0f32)))
}
