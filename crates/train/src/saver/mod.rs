//! `Saver`: the variables of a graph to and from checkpoints, by ordinary nodes of the graph.
//!
//! ```
//! use thalweg_client::{Scope, Session};
//! use thalweg_train::saver::{Saver, latest_checkpoint};
//!
//! let g = Scope::new();
//! let v = g.variable("v", &g.constant([1f32, 2.0]));
//! let saver = Saver::new(&g);
//! let session = Session::new(&g)?;
//! session.run(&g.init(), &[])?;
//! # let dir = std::env::temp_dir().join(format!("thalweg-saver-{}", std::process::id()));
//! saver.save(&session, &dir.join("model"), Some(100))?;
//! if let Some(newest) = latest_checkpoint(&dir)? {
//!     saver.restore(&session, &newest)?;
//! }
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok::<(), thalweg_client::Error>(())
//! ```

mod best;
mod fit;
mod keep;
mod meta_graph;
mod nodes;

use keep::{Kept, system_clock};
use nodes::Nodes;
use std::collections::HashSet;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use thalweg_client::{Code, Error, Result, Scope, Session, Variable, feed, keys};
use thalweg_io::checkpoint;
use thalweg_io::durable;
use thalweg_proto::{MetaGraphDef, encode};

pub use best::BestSaver;
pub use keep::{Clock, Keep};
pub use thalweg_io::checkpoint::latest_checkpoint;

/// The file name that hooks and `thalweg train` save checkpoints under, before `-STEP`.
pub const CHECKPOINT_NAME: &str = "model.ckpt";

/// Saves and restores variables. Checkpoints are TensorFlow's (version 2).
pub struct Saver {
    scope: Scope,
    /// By the name in the checkpoint, in order.
    variables: Vec<(String, Variable)>,
    nodes: Nodes,
    keep: Keep,
    clock: Clock,
    write_meta_graph: bool,
    kept: Mutex<Kept>,
}

impl Saver {
    /// A saver of all variables made so far, without the local ones (counts of metrics).
    #[track_caller]
    pub fn new(g: &Scope) -> Saver {
        Saver::of(g, saved_variables(g).into_iter().map(|v| (v.saved_name(), v)).collect())
    }

    /// A saver of some variables, each under a name in the checkpoint that may differ from its own. Parts of a partitioned variable share
    /// the name of the whole.
    #[track_caller]
    pub fn of(g: &Scope, mut variables: Vec<(String, Variable)>) -> Saver {
        variables.sort_by(|a, b| a.0.cmp(&b.0));
        if variables.is_empty() {
            g.mistake(Error::new(Code::InvalidArgument, "no variables to save"));
        }
        let nodes = Nodes::new(g, &variables);
        let (keep, clock) = (Keep::default(), system_clock());
        let kept = Mutex::new(Kept::starting(keep, &clock));
        Saver { scope: g.root(), variables, nodes, keep, clock, write_meta_graph: true, kept }
    }

    /// How many of the newest checkpoints are kept: 5 by default, 0 for all.
    pub fn max_to_keep(self, count: usize) -> Saver {
        let keep = Keep { newest: count, ..self.keep };
        self.keep(keep)
    }

    /// Also keeps one older checkpoint for this many hours of training: 10,000 by default.
    pub fn keep_checkpoint_every_n_hours(self, hours: f64) -> Saver {
        let keep = Keep { every_n_hours: hours, ..self.keep };
        self.keep(keep)
    }

    /// Both limits.
    pub fn keep(mut self, keep: Keep) -> Saver {
        self.kept = Mutex::new(Kept::starting(keep, &self.clock));
        Saver { keep, ..self }
    }

    /// Another clock than the system's: for tests.
    pub fn clock(mut self, clock: Clock) -> Saver {
        self.kept = Mutex::new(Kept::starting(self.keep, &clock));
        Saver { clock, ..self }
    }

    /// Whether each checkpoint has a `.meta` file with the graph: yes by default.
    pub fn write_meta_graph(mut self, yes: bool) -> Saver {
        self.write_meta_graph = yes;
        self
    }

    /// Saves to `path`, or with a step to `path-step`, and returns that prefix. The checkpoint is complete on disk before the state
    /// file names it, and only then are older ones deleted.
    pub fn save(&self, session: &Session, path: &Path, global_step: Option<i64>) -> Result<PathBuf> {
        let prefix = match global_step {
            Some(step) => durable::with_suffix(path, &format!("-{step}")),
            None => path.to_path_buf(),
        };
        let directory = durable::directory(path);
        durable::create_directory(&directory)?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_new() {
            durable::remove_temporary_files(path)?;
            durable::remove_temporary_files(&directory.join(checkpoint::STATE_FILE))?;
        }
        self.write(session, &prefix)?;
        if self.write_meta_graph {
            let meta = encode(&self.meta_graph_def()?);
            durable::write(&durable::with_suffix(&prefix, ".meta"), &meta)?;
        }
        kept.add(path, &prefix, self.keep, &self.clock)?;
        Ok(prefix)
    }

    /// Writes the variables to a checkpoint, and nothing else.
    pub(crate) fn write(&self, session: &Session, prefix: &Path) -> Result<()> {
        session.run(&self.nodes.save, &[feed(&self.nodes.filename, text(prefix)?)]).map(drop)
    }

    /// The graph as it is now, with the nodes of this saver.
    pub(crate) fn meta_graph_def(&self) -> Result<MetaGraphDef> {
        meta_graph::of(&self.scope, &self.nodes, self.keep)
    }

    /// Restores the variables. An error, and no change, unless all of them are in the checkpoint with the same type and shape.
    #[track_caller]
    pub fn restore(&self, session: &Session, prefix: &Path) -> Result<()> {
        let caller = Location::caller();
        fit::check(prefix, &self.variables).map_err(|e| e.at(Some(caller)))?;
        session.run(&self.nodes.restore, &[feed(&self.nodes.filename, text(prefix)?)])
    }
}

/// The variables of a graph that checkpoints hold: those that are not in the collection `LOCAL_VARIABLES`.
pub(crate) fn saved_variables(g: &Scope) -> Vec<Variable> {
    let local: HashSet<String> =
        g.collection(keys::LOCAL_VARIABLES).iter().map(|handle| handle.op().name()).collect();
    g.global_variables().into_iter().filter(|v| !local.contains(&v.name())).collect()
}

fn text(path: &Path) -> Result<&str> {
    let not_text = || format!("the path {} is not UTF-8 text", path.display());
    path.to_str().ok_or_else(|| Error::new(Code::InvalidArgument, not_text()))
}
