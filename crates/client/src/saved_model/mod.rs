//! SavedModels: graphs with variables and named signatures, as TensorFlow and Keras export them.

mod describe;
mod restore;
mod signature;

pub use describe::{SignatureInfo, TensorInfo};
pub use restore::{StateStep, restore_step, state_steps};
pub use signature::Signature;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thalweg_core::error::{Result, data_loss, not_found};
use thalweg_core::registry::did_you_mean;
use thalweg_io::saved_model;
use thalweg_proto::MetaGraphDef;
use thalweg_runtime::SessionOptions;

/// The name of the signature that Keras and `tf.saved_model.save` give a model.
pub const SERVING_DEFAULT: &str = "serving_default";

/// A loaded SavedModel: its variables are restored and its tables filled. It can be run from many threads at once.
///
/// ```no_run
/// use thalweg_client::SavedModel;
///
/// let model = SavedModel::load("exported/1")?;
/// let serve = model.signature("serving_default")?;
/// let answers = serve.run([("x", [[1f32, 2.0, 3.0]])])?;
/// println!("{}", answers["y"]);
/// # Ok::<(), thalweg_client::Error>(())
/// ```
pub struct SavedModel {
    directory: PathBuf,
    session: thalweg_runtime::Session,
    tags: Vec<String>,
    tensorflow_version: String,
    signatures: BTreeMap<String, Arc<SignatureInfo>>,
}

/// How a SavedModel is loaded.
#[derive(Clone, Default)]
pub struct LoadOptions {
    /// The tags of the graph. Without, the one tagged `serve`, else the only one.
    pub tags: Option<Vec<String>>,
    /// Threads, file access and other settings of its session. Nodes on devices that do not exist here run on the CPU.
    pub session: SessionOptions,
}

impl SavedModel {
    /// Loads the model in a directory: reads its variables and runs its initialiser.
    pub fn load(directory: impl AsRef<Path>) -> Result<SavedModel> {
        SavedModel::load_with(directory, LoadOptions::default())
    }

    /// As [`SavedModel::load`], with tags and session options.
    pub fn load_with(directory: impl AsRef<Path>, options: LoadOptions) -> Result<SavedModel> {
        let directory = directory.as_ref();
        let message = saved_model::read(directory)?;
        let meta = saved_model::select(message, options.tags.as_deref())
            .map_err(|e| e.context(directory.display()))?;
        SavedModel::of(directory, meta, options.session).map_err(|e| e.context(directory.display()))
    }

    fn of(directory: &Path, mut meta: MetaGraphDef, options: SessionOptions) -> Result<SavedModel> {
        let def = meta.graph_def.take().ok_or_else(|| data_loss("the SavedModel has no graph"))?;
        // Models name the devices that they were trained on.
        let options = SessionOptions { soft_placement: true, ..options };
        let session = thalweg_runtime::Session::new(Arc::new(thalweg_ops::registry()), options)?;
        session.extend_with(|graph| graph.import(&def))?;
        drop(def);
        let signatures = describe::signatures(&meta)?;
        for step in state_steps(directory, &meta)? {
            step.run(&session)?;
        }
        Ok(SavedModel {
            directory: directory.to_path_buf(),
            session,
            tags: saved_model::tags_of(&meta).to_vec(),
            tensorflow_version: meta.meta_info_def.map(|info| info.tensorflow_version).unwrap_or_default(),
            signatures,
        })
    }

    /// The signature of that name, compiled, to be run many times. Signatures stay valid when the model is dropped.
    pub fn signature(&self, name: &str) -> Result<Signature> {
        let Some(info) = self.signatures.get(name) else {
            let names = || self.signatures.keys().map(String::as_str);
            let near = did_you_mean(names(), name);
            let there = names().collect::<Vec<_>>().join(", ");
            let e = not_found(format_args!("there is no signature '{name}'{near}; it has: {there}"));
            return Err(e.context(self.directory.display()));
        };
        Signature::compile(&self.session, name, info)
            .map_err(|e| e.context(format_args!("signature '{name}'")))
    }

    /// The signature `serving_default`, or the only one.
    pub fn serving_default(&self) -> Result<Signature> {
        match (self.signatures.contains_key(SERVING_DEFAULT), self.signatures.keys().next()) {
            (false, Some(only)) if self.signatures.len() == 1 => self.signature(only),
            _ => self.signature(SERVING_DEFAULT),
        }
    }

    /// All signatures, by name.
    pub fn signatures(&self) -> impl Iterator<Item = (&str, &SignatureInfo)> {
        self.signatures.iter().map(|(name, info)| (name.as_str(), &**info))
    }

    /// Where it was loaded from.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The tags of its graph.
    pub fn tags(&self) -> &[String] {
        &self.tags
    }

    /// The version of TensorFlow that wrote it; empty if it does not say.
    pub fn tensorflow_version(&self) -> &str {
        &self.tensorflow_version
    }

    /// Its session, for runs by tensor name.
    pub fn session(&self) -> &thalweg_runtime::Session {
        &self.session
    }
}

/// The signatures of a SavedModel, without loading it: name, and what it takes and returns.
pub fn signatures_of(meta: &MetaGraphDef) -> Result<BTreeMap<String, Arc<SignatureInfo>>> {
    describe::signatures(meta)
}
