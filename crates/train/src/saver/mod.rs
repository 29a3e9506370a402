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

mod fit;
mod meta_graph;
mod nodes;

use nodes::Nodes;
use std::collections::HashSet;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use thalweg_client::{Code, Error, Result, Scope, Session, Variable, feed, keys};
use thalweg_io::checkpoint::{self, State};
use thalweg_io::durable;

pub use thalweg_io::checkpoint::latest_checkpoint;

/// Saves and restores variables. Checkpoints are TensorFlow's (version 2).
pub struct Saver {
    scope: Scope,
    /// By the name in the checkpoint, in order.
    variables: Vec<(String, Variable)>,
    nodes: Nodes,
    max_to_keep: usize,
    write_meta_graph: bool,
    /// The checkpoints that this saver looks after, by the path they were saved to.
    kept: Mutex<Option<(PathBuf, State)>>,
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
        Saver {
            scope: g.root(),
            variables,
            nodes,
            max_to_keep: 5,
            write_meta_graph: true,
            kept: Mutex::default(),
        }
    }

    /// How many of the newest checkpoints are kept: 5 unless told otherwise, 0 for all.
    pub fn max_to_keep(mut self, count: usize) -> Saver {
        self.max_to_keep = count;
        self
    }

    /// Whether each checkpoint has the graph beside it, in a file `.meta`: yes unless told otherwise.
    pub fn write_meta_graph(mut self, yes: bool) -> Saver {
        self.write_meta_graph = yes;
        self
    }

    /// Saves to `path`, or with a step given to `path-step`, and gives that prefix. The checkpoint is whole on disk before the state
    /// file names it, and only then do older ones go.
    pub fn save(&self, session: &Session, path: &Path, global_step: Option<i64>) -> Result<PathBuf> {
        let prefix = match global_step {
            Some(step) => durable::with_suffix(path, &format!("-{step}")),
            None => path.to_path_buf(),
        };
        let directory = durable::directory(path);
        std::fs::create_dir_all(&directory).map_err(|e| durable::at(&directory, e))?;
        if self.kept.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
            durable::remove_drafts(path)?;
            durable::remove_drafts(&directory.join(checkpoint::STATE_FILE))?;
        }
        session.run(&self.nodes.save, &[feed(&self.nodes.filename, text(&prefix)?)])?;
        if self.write_meta_graph {
            let meta = meta_graph::of(&self.scope, &self.nodes, self.max_to_keep)?;
            durable::write(&durable::with_suffix(&prefix, ".meta"), &meta)?;
        }
        self.remember(path, &prefix, &directory)?;
        Ok(prefix)
    }

    /// Sets the variables to what a checkpoint holds. Nothing is changed unless all of them are in it.
    #[track_caller]
    pub fn restore(&self, session: &Session, prefix: &Path) -> Result<()> {
        let caller = Location::caller();
        fit::check(prefix, &self.variables).map_err(|e| e.at(Some(caller)))?;
        session.run(&self.nodes.restore, &[feed(&self.nodes.filename, text(prefix)?)])
    }

    fn remember(&self, path: &Path, prefix: &Path, directory: &Path) -> Result<()> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = match kept.take() {
            Some((of, state)) if of == path => state,
            _ => before(path, directory),
        };
        let old = state.push(prefix, self.max_to_keep);
        let written = state.write(directory);
        *kept = Some((path.to_path_buf(), state));
        written?;
        old.iter().try_for_each(|p| checkpoint::remove(p))
    }
}

/// The variables of a graph that checkpoints hold: those that are not in the collection `LOCAL_VARIABLES`.
pub(crate) fn saved_variables(g: &Scope) -> Vec<Variable> {
    let local: HashSet<String> =
        g.collection(keys::LOCAL_VARIABLES).iter().map(|handle| handle.op().name()).collect();
    g.global_variables().into_iter().filter(|v| !local.contains(&v.name())).collect()
}

/// The checkpoints that an earlier run saved to the same path: this saver looks after them too.
fn before(path: &Path, directory: &Path) -> State {
    let mut state = State::read(directory).ok().flatten().unwrap_or_default();
    let base = durable::with_suffix(path, "-");
    state.all.retain(|p| {
        let step = p.as_os_str().as_encoded_bytes().strip_prefix(base.as_os_str().as_encoded_bytes());
        step.is_some_and(|s| !s.is_empty() && s.iter().all(u8::is_ascii_digit))
    });
    state
}

fn text(path: &Path) -> Result<&str> {
    let not_text = || format!("the path {} is not UTF-8 text", path.display());
    path.to_str().ok_or_else(|| Error::new(Code::InvalidArgument, not_text()))
}
