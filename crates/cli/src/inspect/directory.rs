//! A directory of a run, a model, or both: checkpoints and event files.

use super::{checkpoint, events, saved_model, titled};
use std::path::{Path, PathBuf};
use thalweg_core::error::{Result, not_found};
use thalweg_io::bundle::BundleReader;
use thalweg_io::checkpoint::{State, latest_checkpoint};
use thalweg_io::{durable, glob};

pub fn show(path: &Path) -> Result<String> {
    if thalweg_io::saved_model::file(path).is_some() {
        return saved_model::show(path);
    }
    let indexes = named(path, "*.index")?;
    let event_files = named(path, "*.tfevents.*")?;
    let mut parts = Vec::new();
    if !indexes.is_empty() {
        parts.push(checkpoints(path, &indexes)?);
    }
    if !event_files.is_empty() {
        parts.push(events::show(&event_files)?);
    }
    if parts.is_empty() {
        let e = format!("{}: no checkpoint, event file or saved model in this directory", path.display());
        return Err(not_found(e));
    }
    Ok(parts.join("\n"))
}

/// Files of the directory itself whose names match, in order.
fn named(directory: &Path, pattern: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(|e| durable::with_path(directory, e))? {
        let path = entry.map_err(|e| durable::with_path(directory, e))?.path();
        if path.file_name().and_then(|n| n.to_str()).is_some_and(|n| glob::matches(pattern, n)) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// All checkpoints in short, and the newest whole one in full.
fn checkpoints(directory: &Path, indexes: &[PathBuf]) -> Result<String> {
    let listed = State::read(directory).ok().flatten().unwrap_or_default().all;
    let newest = latest_checkpoint(directory)?;
    let row = |index: &PathBuf| {
        let prefix = index.with_extension("");
        let reader = BundleReader::open(&prefix).and_then(|mut r| r.verify().map(|()| r.names().count()));
        let (tensors, state) = match reader {
            Ok(n) => (n.to_string(), if newest.as_ref() == Some(&prefix) { "newest" } else { "whole" }),
            Err(_) => ("?".into(), "DAMAGED"),
        };
        let known = if listed.contains(&prefix) { "yes" } else { "no" };
        let name = prefix.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        vec![name, tensors, state.into(), known.into()]
    };
    let all = titled(&["checkpoint", "tensors", "state", "listed"], "LRLL", indexes.iter().map(row));
    match &newest {
        Some(prefix) => Ok(format!("{all}\n{}", checkpoint::show(prefix)?)),
        None => Ok(format!("{all}\nno checkpoint is whole\n")),
    }
}
