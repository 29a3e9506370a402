use super::state::State;
use crate::bundle::{BundleReader, index_path};
use crate::durable;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use thalweg_core::error::Result;

/// Whether all of a checkpoint can be read: index, data, checksums.
pub fn is_whole(prefix: &Path) -> bool {
    BundleReader::open(prefix).and_then(|mut b| b.verify()).is_ok()
}

/// The newest checkpoint that the state file names and whose index exists, as TensorFlow finds it: without reading it.
pub fn latest_in_state(directory: &Path) -> Result<Option<PathBuf>> {
    let state = State::read(directory)?.unwrap_or_default();
    Ok(state.latest().filter(|p| index_path(p).is_file()).cloned())
}

/// The newest checkpoint of a directory that is whole; all of it is read to know. Those in the state file come first, the newest
/// before the others; then, for a state file that was lost, any that lie in the directory.
pub fn latest_checkpoint(directory: &Path) -> Result<Option<PathBuf>> {
    // A state file that cannot be read says nothing; the checkpoints may still be there.
    let listed = State::read(directory).ok().flatten().unwrap_or_default().all;
    if let Some(found) = listed.iter().rev().find(|p| is_whole(p)) {
        return Ok(Some(found.clone()));
    }
    let mut lying: Vec<(SystemTime, PathBuf)> = in_directory(directory)?;
    lying.retain(|(_, p)| !listed.contains(p));
    lying.sort();
    Ok(lying.into_iter().rev().map(|(_, p)| p).find(|p| is_whole(p)))
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
