//! The checkpoint to go on from, for the one process that trains into a directory.

use super::latest::newest;
use super::state::{State, files};
use crate::bundle::index_path;
use crate::durable;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use thalweg_core::error::{Code, Error, Result, data_loss};

/// The folder that damaged checkpoints are moved to, beside where they lay.
const ASIDE: &str = "damaged";

/// The newest whole checkpoint of a directory. Newer ones that are damaged are told of, a line each, and moved aside: training makes
/// checkpoints of the same names. With none that is whole, damaged ones stay where they are and are an error: training from the start
/// would pass over them without a word. Nobody else may be training into the directory.
pub fn recover(directory: &Path, tell: &dyn Fn(&str)) -> Result<Option<PathBuf>> {
    let listed = match State::read(directory) {
        Ok(state) => state,
        Err(e) => {
            tell(&format!("passed over the list of checkpoints: {e}"));
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
        tell(&format!("passed over {}: it is in the list of checkpoints, but not there", prefix.display()));
    }
    if let (None, Some((_, why))) = (&found.whole, damaged.first()) {
        return Err(none_whole(directory, damaged.len(), why));
    }
    if let (Some(mut state), false) = (listed, found.skipped.is_empty()) {
        state.all.retain(|p| found.skipped.iter().all(|(skipped, _)| skipped != p));
        state.write(directory)?;
    }
    for (prefix, why) in damaged {
        let aside = set_aside(prefix)?;
        tell(&format!("passed over a damaged checkpoint, now in {}: {why}", aside.display()));
    }
    Ok(found.whole)
}

/// Whether an error is the fault of the files, not of the process that reads them.
fn is_damage(e: &Error) -> bool {
    !matches!(e.code(), Code::PermissionDenied | Code::ResourceExhausted | Code::Unknown)
}

fn none_whole(directory: &Path, damaged: usize, why: &Error) -> Error {
    data_loss(format_args!(
        "none of the {damaged} checkpoints in {} is whole; restore one from a copy, or move them away to train from the start; \
         the newest: {why}",
        directory.display()
    ))
}

/// Moves the files of a checkpoint to a folder beside it; which one.
fn set_aside(prefix: &Path) -> Result<PathBuf> {
    let directory = durable::directory(prefix);
    let name = prefix.file_name().unwrap_or_default();
    let numbered = |n: u32| if n == 0 { ASIDE.to_string() } else { format!("{ASIDE}-{n}") };
    let mut folders = (0..).map(|n| directory.join(numbered(n)));
    let is_free = |f: &PathBuf| !index_path(&f.join(name)).exists();
    let folder = folders.find(is_free).unwrap_or_else(|| directory.join(ASIDE));
    durable::create_directory(&folder)?;
    for file in files(prefix)? {
        let to = folder.join(file.file_name().unwrap_or_default());
        match std::fs::rename(&file, &to) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(durable::at(&file, e)),
            _ => {}
        }
    }
    durable::sync_directory(prefix)?;
    durable::sync_directory(&folder.join(name))?;
    Ok(folder)
}
