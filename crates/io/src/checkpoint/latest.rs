use super::state::State;
use crate::bundle::{BundleReader, index_path};
use crate::durable;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use thalweg_core::error::{Error, Result};

/// Verifies a checkpoint: reads index and data, and checks the CRCs.
fn verify(prefix: &Path) -> Result<()> {
    BundleReader::open(prefix)?.verify()
}

/// The newest checkpoint of the state file, if its index exists; not verified, as in TensorFlow's `latest_checkpoint`.
pub fn latest_in_state(directory: &Path) -> Result<Option<PathBuf>> {
    let state = State::read(directory)?.unwrap_or_default();
    Ok(state.latest().filter(|p| index_path(p).is_file()).cloned())
}

/// The newest valid checkpoint of a directory, and the corrupt ones that are newer.
pub struct Newest {
    pub valid: Option<PathBuf>,
    /// The newest first, each with its error.
    pub skipped: Vec<(PathBuf, Error)>,
}

/// The newest valid checkpoint of a directory; candidates are verified. Those in the state file come first, from the newest on;
/// then, for a lost state file, any others in the directory.
pub fn latest_checkpoint(directory: &Path) -> Result<Option<PathBuf>> {
    Ok(newest(directory)?.valid)
}

/// As `latest_checkpoint`, with the corrupt ones that were skipped.
pub fn newest(directory: &Path) -> Result<Newest> {
    // Without a readable state file the checkpoints may still be valid.
    let listed = State::read(directory).ok().flatten().unwrap_or_default().all;
    let mut skipped = Vec::new();
    if let Some(valid) = first_valid(listed.iter().rev(), &mut skipped) {
        return Ok(Newest { valid: Some(valid), skipped });
    }
    let mut unlisted: Vec<(SystemTime, PathBuf)> = in_directory(directory)?;
    unlisted.retain(|(_, p)| !listed.contains(p));
    unlisted.sort();
    let valid = first_valid(unlisted.iter().rev().map(|(_, p)| p), &mut skipped);
    Ok(Newest { valid, skipped })
}

fn first_valid<'a>(
    prefixes: impl Iterator<Item = &'a PathBuf>,
    skipped: &mut Vec<(PathBuf, Error)>,
) -> Option<PathBuf> {
    for prefix in prefixes {
        match verify(prefix) {
            Ok(()) => return Some(prefix.clone()),
            Err(e) => skipped.push((prefix.clone(), e)),
        }
    }
    None
}

/// Whether a directory has checkpoints, valid or not.
pub fn has_checkpoints(directory: &Path) -> Result<bool> {
    Ok(!in_directory(directory)?.is_empty())
}

/// Prefixes that have an index, with its modification time.
fn in_directory(directory: &Path) -> Result<Vec<(SystemTime, PathBuf)>> {
    let entries = match std::fs::read_dir(directory) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|e| durable::with_path(directory, e))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| durable::with_path(directory, e))?;
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "index") {
            let age = entry.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            found.push((age, path.with_extension("")));
        }
    }
    Ok(found)
}
