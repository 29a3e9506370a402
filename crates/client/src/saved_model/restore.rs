//! The state of a loaded model: variables from its bundle, then tables by its initialiser.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use thalweg_core::error::{Result, data_loss};
use thalweg_core::tensor::Tensor;
use thalweg_io::message::decode;
use thalweg_io::saved_model;
use thalweg_proto::collection_def::Kind;
use thalweg_proto::tensor_info::Encoding;
use thalweg_proto::{AssetFileDef, MetaGraphDef};
use thalweg_runtime::Session;

/// The initialiser's signature of TensorFlow 2, and the collections of TensorFlow 1 that name it.
const INIT_SIGNATURE: &str = "__saved_model_init_op";
const INIT_COLLECTIONS: [&str; 2] = ["saved_model_main_op", "legacy_init_op"];

/// The collection in which TensorFlow 1 lists the assets.
const ASSETS: &str = "saved_model_assets";

/// A step that brings a model into its state: run the target with these feeds.
pub struct StateStep {
    /// Tensors by name.
    pub feeds: Vec<(String, Tensor)>,
    /// A node.
    pub target: String,
    /// What it does, for errors.
    doing: &'static str,
}

impl StateStep {
    fn new(feeds: Vec<(String, Tensor)>, target: &str, doing: &'static str) -> StateStep {
        let node = target.split_once(':').map_or(target, |(node, _)| node);
        StateStep { feeds, target: node.to_string(), doing }
    }

    /// Runs it in a session.
    pub fn run(&self, session: &Session) -> Result<()> {
        let names: Vec<&str> = self.feeds.iter().map(|f| f.0.as_str()).collect();
        let values = self.feeds.iter().map(|f| f.1.clone()).collect();
        let callable = session.callable_by_name(&names, &[], &[&self.target]);
        callable.and_then(|c| c.run(values)).map(drop).map_err(|e| e.context(self.doing))
    }
}

/// The steps after which the model in a directory can be run: its variables are restored, if it has any, and its tables filled.
pub fn state_steps(directory: &Path, meta: &MetaGraphDef) -> Result<Vec<StateStep>> {
    let assets = asset_feeds(directory, meta)?;
    let mut steps = Vec::new();
    if saved_model::has_variables(directory) {
        let mut restore = restore_step(meta, &saved_model::variables(directory))?;
        restore.feeds.extend(assets.iter().cloned());
        steps.push(restore);
    }
    steps.extend(init_op(meta).map(|name| StateStep::new(assets, name, "running the initialiser")));
    Ok(steps)
}

/// The step that restores the variables of a graph from a checkpoint, by its saver.
pub fn restore_step(meta: &MetaGraphDef, prefix: &Path) -> Result<StateStep> {
    let saver = meta.saver_def.as_ref().filter(|saver| !saver.restore_op_name.is_empty());
    let saver = saver.ok_or_else(|| data_loss("the graph has no saver to restore its variables with"))?;
    let feeds = vec![(saver.filename_tensor_name.clone(), Tensor::string(text(prefix)?))];
    Ok(StateStep::new(feeds, &saver.restore_op_name, "restoring the variables"))
}

fn init_op(meta: &MetaGraphDef) -> Option<&str> {
    let signature = meta.signature_def.get(INIT_SIGNATURE).and_then(|s| s.outputs.get(INIT_SIGNATURE));
    if let Some(Encoding::Name(name)) = signature.and_then(|info| info.encoding.as_ref()) {
        return Some(name);
    }
    INIT_COLLECTIONS.iter().find_map(|key| match &meta.collection_def.get(*key)?.kind {
        Some(Kind::NodeList(list)) => list.value.first().map(String::as_str),
        _ => None,
    })
}

/// The path of each asset, for the tensor that takes it.
fn asset_feeds(directory: &Path, meta: &MetaGraphDef) -> Result<Vec<(String, Tensor)>> {
    let assets = saved_model::assets(directory);
    let mut feeds = BTreeMap::new();
    for asset in asset_files(meta)? {
        let Some(Encoding::Name(tensor)) = asset.tensor_info.and_then(|info| info.encoding) else { continue };
        let inside = Path::new(&asset.filename).components().all(|c| matches!(c, Component::Normal(_)));
        if !inside || asset.filename.is_empty() {
            return Err(data_loss(format_args!(
                "the asset '{}' is not in the model's directory",
                asset.filename
            )));
        }
        feeds.insert(tensor, Tensor::string(text(&assets.join(&asset.filename))?));
    }
    Ok(feeds.into_iter().collect())
}

/// TensorFlow 2 lists assets in the meta graph, TensorFlow 1 in a collection.
fn asset_files(meta: &MetaGraphDef) -> Result<Vec<AssetFileDef>> {
    if !meta.asset_file_def.is_empty() {
        return Ok(meta.asset_file_def.clone());
    }
    let Some(Kind::AnyList(list)) = meta.collection_def.get(ASSETS).and_then(|c| c.kind.as_ref()) else {
        return Ok(Vec::new());
    };
    let damaged = |e| data_loss(format_args!("the collection {ASSETS}: {e}"));
    list.value.iter().map(|any| decode::<AssetFileDef>(any.value.clone())?.map_err(damaged)).collect()
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| data_loss(format_args!("the path {} is not UTF-8 text", path.display())))
}
