use super::state::State;
use crate::bundle::{BundleReader, index_path};
use crate::durable;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use thalweg_core::error::{Error, Result};

/// Reads all of a checkpoint: index, data, checksums.
fn verify(prefix: &Path) -> Result<()> {
    BundleReader::open(prefix)?.verify()
}

/// The newest checkpoint that the state file names and whose index exists, as TensorFlow finds it: without reading it.
pub fn latest_in_state(directory: &Path) -> Result<Option<PathBuf>> {
    let state = State::read(directory)?.unwrap_or_default();
    Ok(state.latest().filter(|p| index_path(p).is_file()).cloned())
}

/// The newest checkpoint of a directory that is whole, and those that would have come before it.
pub struct Newest {
    pub whole: Option<PathBuf>,
    /// The newest first, each with what is wrong with it.
    pub skipped: Vec<(PathBuf, Error)>,
}

/// The newest checkpoint of a directory that is whole; all of it is read to know. Those in the state file come first, the newest
/// before the others; then, for a state file that was lost, any that lie in the directory.
pub fn latest_checkpoint(directory: &Path) -> Result<Option<PathBuf>> {
    Ok(newest(directory)?.whole)
}

/// As `latest_checkpoint`, with those that were passed over.
pub fn newest(directory: &Path) -> Result<Newest> {
    // A state file that cannot be read says nothing; the checkpoints may still be there.
    let listed = State::read(directory).ok().flatten().unwrap_or_default().all;
    let mut skipped = Vec::new();
    if let Some(whole) = first_whole(listed.iter().rev(), &mut skipped) {
        return Ok(Newest { whole: Some(whole), skipped });
    }
    let mut lying: Vec<(SystemTime, PathBuf)> = in_directory(directory)?;
    lying.retain(|(_, p)| !listed.contains(p));
    lying.sort();
    let whole = first_whole(lying.iter().rev().map(|(_, p)| p), &mut skipped);
    Ok(Newest { whole, skipped })
}

fn first_whole<'a>(
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

/// Whether a directory has checkpoints, whole or not.
pub fn has_checkpoints(directory: &Path) -> Result<bool> {
    Ok(!in_directory(directory)?.is_empty())
}

/// Prefixes for which there is an index, with its age.
fn in_directory(directory: &Path) -> Result<Vec<(SystemTime, PathBuf)>> {
    let entries = match std::fs::read_dir(directory) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|e| durable::at(directory, e))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| durable::at(directory, e))?;
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "index") {
            let age = entry.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            found.push((age, path.with_extension("")));
        }
    }
    Ok(found)
}
