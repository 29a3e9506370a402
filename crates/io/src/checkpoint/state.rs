use super::STATE_FILE;
use crate::bundle::index_path;
use crate::message::parse_text;
use crate::{bounded_read, durable};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use thalweg_core::error::{Code, Result, data_loss};
use thalweg_core::invalid;
use thalweg_proto::{CheckpointState, text};

/// The contents of a state file (`CheckpointState`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Prefixes of the checkpoints that are kept, the newest last.
    pub all: Vec<PathBuf>,
}

impl State {
    /// The newest checkpoint.
    pub fn latest(&self) -> Option<&PathBuf> {
        self.all.last()
    }

    /// Reads a directory's state file; `None` if it has none. Relative paths are relative to the directory.
    pub fn read(directory: &Path) -> Result<Option<State>> {
        let path = directory.join(STATE_FILE);
        let text = match bounded_read::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.code() == Code::NotFound => return Ok(None),
            Err(e) => return Err(e),
        };
        let text = String::from_utf8(text).map_err(|_| durable::with_path(&path, data_loss("not text")))?;
        let state: CheckpointState =
            parse_text(&text)?.map_err(|e| durable::with_path(&path, data_loss(e.to_string())))?;
        let mut all: Vec<PathBuf> =
            state.all_model_checkpoint_paths.iter().map(|p| directory.join(p)).collect();
        if !state.model_checkpoint_path.is_empty() {
            let newest = directory.join(&state.model_checkpoint_path);
            all.retain(|p| *p != newest);
            all.push(newest);
        }
        Ok(Some(State { all }))
    }

    /// Replaces the state file. Paths of checkpoints in the directory are written relative to it, so that the directory can be
    /// moved.
    pub fn write(&self, directory: &Path) -> Result<()> {
        let name = |p: &PathBuf| {
            let short = p.strip_prefix(directory).unwrap_or(p);
            let text = short.to_str().map(str::to_string);
            text.ok_or_else(|| invalid!("the checkpoint's path {} is not text", p.display()))
        };
        let all: Vec<String> = self.all.iter().map(name).collect::<Result<_>>()?;
        let state = CheckpointState {
            model_checkpoint_path: all.last().cloned().unwrap_or_default(),
            all_model_checkpoint_paths: all,
            ..Default::default()
        };
        durable::write(&directory.join(STATE_FILE), text::print(&state).as_bytes())
    }

    /// Adds the newest checkpoint and returns those beyond the `keep` newest, to be removed (`keep` 0: none).
    pub fn push(&mut self, prefix: &Path, keep: usize) -> Vec<PathBuf> {
        self.all.retain(|p| p != prefix);
        self.all.push(prefix.to_path_buf());
        let surplus = if keep == 0 { 0 } else { self.all.len().saturating_sub(keep) };
        self.all.drain(..surplus).collect()
    }
}

/// Removes the files of a checkpoint, the index first: without it there is no checkpoint.
pub fn remove(prefix: &Path) -> Result<()> {
    files(prefix)?.iter().try_for_each(|path| match std::fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(durable::with_path(path, e)),
        _ => Ok(()),
    })
}

/// The files of a checkpoint: the index first, then the existing shards, then the meta graph.
pub(super) fn files(prefix: &Path) -> Result<Vec<PathBuf>> {
    let mut all = vec![index_path(prefix)];
    let (Some(name), directory) = (prefix.file_name(), durable::directory(prefix)) else { return Ok(all) };
    let mut data = name.to_os_string();
    data.push(".data-");
    for entry in std::fs::read_dir(&directory).map_err(|e| durable::with_path(&directory, e))? {
        let path = entry.map_err(|e| durable::with_path(&directory, e))?.path();
        let starts = |n: &std::ffi::OsStr| n.as_encoded_bytes().starts_with(data.as_encoded_bytes());
        if path.file_name().is_some_and(starts) {
            all.push(path);
        }
    }
    all.push(durable::with_suffix(prefix, ".meta"));
    Ok(all)
}
