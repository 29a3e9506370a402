//! `SavedModelBuilder`: a graph with its variables as a SavedModel, for TensorFlow's tools, servers and [`SavedModel::load`].
//!
//! ```
//! use thalweg_client::{DataType, SavedModel, Scope, Session};
//! use thalweg_train::saved_model::SavedModelBuilder;
//!
//! let g = Scope::new();
//! let x = g.placeholder(DataType::Float, &[-1]);
//! let y = g.mul(&x, &g.variable("v", &g.constant(3f32)).value);
//! let session = Session::new(&g)?;
//! session.run(&g.init(), &[])?;
//! # let scratch = std::env::temp_dir().join(format!("thalweg-export-{}", std::process::id()));
//! # let directory = scratch.join("1");
//! SavedModelBuilder::new(&g).signature("serving_default", &[("x", &x)], &[("y", &y)]).save(&session, &directory)?;
//! let model = SavedModel::load(&directory)?;
//! let found = model.signature("serving_default")?.run([("x", [1f32, 2.0])])?;
//! assert_eq!(found["y"].as_slice::<f32>()?, [3.0, 6.0]);
//! # std::fs::remove_dir_all(&scratch)?;
//! # Ok::<(), thalweg_client::Error>(())
//! ```
//!
//! [`SavedModel::load`]: thalweg_client::SavedModel::load

mod directory;

pub use directory::next_version;

use crate::saver::{Saver, saved_variables};
use crate::tables_initializer;
use directory::Unfinished;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thalweg_client::{Code, Error, Operation, Output, Result, Scope, Session, keys};
use thalweg_io::wire::partial_shape_to_proto;
use thalweg_io::{durable, saved_model};
use thalweg_proto::tensor_info::Encoding;
use thalweg_proto::{AssetFileDef, MetaGraphDef, SavedModel, SignatureDef, TensorInfo, encode};

/// The method names of signatures, which say what a server may use them for.
pub mod methods {
    /// Any inputs and outputs.
    pub const PREDICT: &str = "tensorflow/serving/predict";
    /// Examples in; `classes` and `scores` out.
    pub const CLASSIFY: &str = "tensorflow/serving/classify";
    /// Examples in; `outputs` out.
    pub const REGRESS: &str = "tensorflow/serving/regress";
}

/// The signature under which loaders look for the initialiser.
const INIT_SIGNATURE: &str = "__saved_model_init_op";

/// Writes the graph of a scope, with named signatures and the values that its variables have in a session.
pub struct SavedModelBuilder {
    scope: Scope,
    tags: Vec<String>,
    signatures: BTreeMap<String, SignatureDef>,
    init: Vec<Operation>,
    assets: Vec<(Output, PathBuf)>,
}

impl SavedModelBuilder {
    /// A builder without signatures, tagged `serve`.
    pub fn new(g: &Scope) -> SavedModelBuilder {
        SavedModelBuilder {
            scope: g.root(),
            tags: vec![saved_model::SERVE.to_string()],
            signatures: BTreeMap::new(),
            init: Vec::new(),
            assets: Vec::new(),
        }
    }

    /// Adds a signature: what is fed and what is computed, by name.
    pub fn signature(self, name: &str, inputs: &[(&str, &Output)], outputs: &[(&str, &Output)]) -> Self {
        self.signature_of(name, methods::PREDICT, inputs, outputs)
    }

    /// As [`SavedModelBuilder::signature`], with one of the other [`methods`].
    pub fn signature_of(
        mut self,
        name: &str,
        method: &str,
        inputs: &[(&str, &Output)],
        outputs: &[(&str, &Output)],
    ) -> Self {
        let all = |tensors: &[(&str, &Output)]| {
            tensors.iter().map(|(name, tensor)| (name.to_string(), info(tensor))).collect()
        };
        let def = SignatureDef {
            inputs: all(inputs),
            outputs: all(outputs),
            method_name: method.to_string(),
            ..Default::default()
        };
        self.signatures.insert(name.to_string(), def);
        self
    }

    /// The tags of the graph, instead of `serve`.
    pub fn tags(mut self, tags: &[&str]) -> Self {
        self.tags = tags.iter().map(|tag| tag.to_string()).collect();
        self
    }

    /// Runs this when the model has been loaded, beside the initialisers of tables.
    pub fn init_op(mut self, op: &Operation) -> Self {
        self.init.push(op.clone());
        self
    }

    /// Copies a file into the model; when it is loaded, the tensor is the path of the copy. Vocabulary files of tables are found without it.
    pub fn asset(mut self, tensor: &Output, file: impl AsRef<Path>) -> Self {
        self.assets.push((tensor.clone(), file.as_ref().to_path_buf()));
        self
    }

    /// Writes the model to a directory that does not exist yet. It appears whole or not at all.
    pub fn save(&self, session: &Session, directory: &Path) -> Result<()> {
        let unfinished = Unfinished::create(directory)?;
        let mut meta = self.variables(session, unfinished.path())?;
        let init = self.initialiser();
        self.scope.check()?;
        meta.graph_def = Some(self.scope.to_graph_def()?);
        meta.asset_file_def = self.copy_assets(session, unfinished.path())?;
        meta.signature_def = self.signatures.clone();
        if let Some(init) = init {
            let info = TensorInfo {
                encoding: Some(Encoding::Name(init.name())),
                tensor_shape: Some(partial_shape_to_proto(&Default::default())),
                ..Default::default()
            };
            let outputs = [(INIT_SIGNATURE.to_string(), info)].into();
            let def = SignatureDef { outputs, ..Default::default() };
            meta.signature_def.insert(INIT_SIGNATURE.to_string(), def);
        }
        meta.meta_info_def.get_or_insert_default().tags = self.tags.clone();
        let model = SavedModel { saved_model_schema_version: 1, meta_graphs: vec![meta] };
        durable::write(&unfinished.path().join("saved_model.pb"), &encode(&model))?;
        unfinished.finish()
    }

    /// Saves the variables; returns the graph with its saver and collections.
    fn variables(&self, session: &Session, directory: &Path) -> Result<MetaGraphDef> {
        let variables = saved_variables(&self.scope);
        if variables.is_empty() {
            return Ok(MetaGraphDef::default());
        }
        let saver = Saver::of(&self.scope, variables.into_iter().map(|v| (v.saved_name(), v)).collect());
        self.scope.check()?;
        let prefix = saved_model::variables(directory);
        durable::create_directory(&durable::directory(&prefix))?;
        saver.write(session, &prefix)?;
        saver.meta_graph_def()
    }

    /// One op for all that must run when the model has been loaded; `None` if nothing must.
    fn initialiser(&self) -> Option<Operation> {
        let tables = self.scope.operations_in_collection(keys::TABLE_INITIALIZERS);
        if tables.is_empty() && self.init.is_empty() {
            return None;
        }
        let tables = tables_initializer(&self.scope);
        let all: Vec<&Operation> = self.init.iter().chain([&tables]).collect();
        Some(self.scope.control_dependencies(&all).op("NoOp").name("saved_model_init").build())
    }

    /// Copies the files of assets, each under a name of its own.
    fn copy_assets(&self, session: &Session, directory: &Path) -> Result<Vec<AssetFileDef>> {
        let mut assets = self.assets.clone();
        for tensor in self.scope.collection(keys::ASSET_FILEPATHS) {
            if assets.iter().all(|(known, _)| known.name() != tensor.name()) {
                let path = session.run(&tensor, &[])?;
                let text = path.strings()?.first().map(|p| String::from_utf8_lossy(p).into_owned());
                assets.push((tensor, text.unwrap_or_default().into()));
            }
        }
        let mut copied: BTreeMap<PathBuf, String> = BTreeMap::new();
        let mut listed = Vec::new();
        for (tensor, file) in assets {
            let filename = match copied.get(&file) {
                Some(name) => name.clone(),
                None => {
                    let name = copy(&file, directory, &copied)?;
                    copied.insert(file, name.clone());
                    name
                }
            };
            let encoding = Some(Encoding::Name(tensor.name()));
            listed.push(AssetFileDef {
                tensor_info: Some(TensorInfo { encoding, ..Default::default() }),
                filename,
            });
        }
        Ok(listed)
    }
}

fn info(tensor: &Output) -> TensorInfo {
    TensorInfo {
        encoding: Some(Encoding::Name(tensor.name())),
        dtype: tensor.dtype().wire(),
        tensor_shape: Some(partial_shape_to_proto(&tensor.shape())),
    }
}

/// Copies a file to the assets; a name that another has gets a number.
fn copy(file: &Path, directory: &Path, others: &BTreeMap<PathBuf, String>) -> Result<String> {
    let assets = saved_model::assets(directory);
    durable::create_directory(&assets)?;
    let base = file.file_name().map(|n| n.to_string_lossy().into_owned());
    let base =
        base.ok_or_else(|| Error::new(Code::InvalidArgument, format!("asset {}: no file", file.display())))?;
    let is_free = |name: &String| others.values().all(|other| other != name);
    let numbered = (1..).map(|i| format!("{base}_{i}"));
    let name = std::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or(base);
    std::fs::copy(file, assets.join(&name)).map_err(|e| durable::with_path(file, e))?;
    Ok(name)
}
