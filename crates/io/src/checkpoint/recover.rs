//! Recovery: the checkpoint that training resumes from.

use super::latest::newest;
use super::state::{State, files};
use crate::bundle::index_path;
use crate::durable;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use thalweg_core::error::{Code, Error, Result, data_loss};

/// The subdirectory that corrupt checkpoints are moved to.
const QUARANTINE: &str = "damaged";

/// The newest valid checkpoint of a directory. Newer, corrupt ones are logged, a line each, and moved to quarantine: training will
/// write checkpoints of the same names. If none is valid, corrupt ones stay and are an error: training from the start would ignore
/// them silently. The caller holds the directory's lock.
pub fn recover(directory: &Path, log: &dyn Fn(&str)) -> Result<Option<PathBuf>> {
    let listed = match State::read(directory) {
        Ok(state) => state,
        Err(e) => {
            log(&format!("skipped the state file: {e}"));
            None
        }
    };
    let found = newest(directory)?;
    if let Some((_, e)) = found.skipped.iter().find(|(_, e)| !is_damage(e)) {
        return Err(e.clone());
    }
    let is_there = |prefix: &Path| files(prefix).is_ok_and(|all| all.iter().any(|f| f.is_file()));
    let (damaged, gone): (Vec<_>, Vec<_>) = found.skipped.iter().partition(|(prefix, _)| is_there(prefix));
    for (prefix, _) in &gone {
        log(&format!("skipped {}: it is in the state file, but missing", prefix.display()));
    }
    if let (None, Some((_, why))) = (&found.valid, damaged.first()) {
        return Err(none_valid(directory, damaged.len(), why));
    }
    if let (Some(mut state), false) = (listed, found.skipped.is_empty()) {
        state.all.retain(|p| found.skipped.iter().all(|(skipped, _)| skipped != p));
        state.write(directory)?;
    }
    for (prefix, why) in damaged {
        let moved = quarantine(prefix)?;
        log(&format!("skipped a damaged checkpoint, moved to {}: {why}", moved.display()));
    }
    Ok(found.valid)
}

/// Whether an error is corruption of the files, not a condition of this process.
fn is_damage(e: &Error) -> bool {
    !matches!(e.code(), Code::PermissionDenied | Code::ResourceExhausted | Code::Unknown)
}

fn none_valid(directory: &Path, damaged: usize, why: &Error) -> Error {
    data_loss(format_args!(
        "none of the {damaged} checkpoints in {} is whole; restore one from a copy, or move them away to train from the start; \
         the newest: {why}",
        directory.display()
    ))
}

/// Moves the files of a checkpoint to a quarantine directory, and returns that.
fn quarantine(prefix: &Path) -> Result<PathBuf> {
    let directory = durable::directory(prefix);
    let name = prefix.file_name().unwrap_or_default();
    let numbered = |n: u32| if n == 0 { QUARANTINE.to_string() } else { format!("{QUARANTINE}-{n}") };
    let mut folders = (0..).map(|n| directory.join(numbered(n)));
    let is_free = |f: &PathBuf| !index_path(&f.join(name)).exists();
    let folder = folders.find(is_free).unwrap_or_else(|| directory.join(QUARANTINE));
    durable::create_directory(&folder)?;
    for file in files(prefix)? {
        let to = folder.join(file.file_name().unwrap_or_default());
        match std::fs::rename(&file, &to) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(durable::with_path(&file, e)),
            _ => {}
        }
    }
    durable::sync_directory(prefix)?;
    durable::sync_directory(&folder.join(name))?;
    Ok(folder)
}
