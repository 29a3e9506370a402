//! Merging bundles: each task of a cluster writes its own, and the last step of a save merges them.

use super::reader::BundleReader;
use super::writer::{Entries, slices_of, write_index};
use super::{data_path, index_path};
use crate::durable;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use thalweg_core::error::{Code, Result};
use thalweg_core::invalid;
use thalweg_proto::BundleEntryProto;

pub struct Merge {
    /// Removes the directories of the parts, if they are then empty.
    pub delete_old_dirs: bool,
    /// Missing parts are skipped; at least one must exist.
    pub allow_missing_files: bool,
}

impl Default for Merge {
    fn default() -> Self {
        Merge { delete_old_dirs: true, allow_missing_files: false }
    }
}

/// Renames the shards of the parts to `destination` and writes a merged index. No file is renamed before all parts are validated.
pub fn merge(parts: &[PathBuf], destination: &Path, options: &Merge) -> Result<()> {
    let (mut entries, mut files) = (Entries::new(), Vec::new());
    for prefix in parts {
        let part = match BundleReader::open(prefix) {
            Err(e) if e.code() == Code::NotFound && options.allow_missing_files => continue,
            Err(e) if e.code() == Code::NotFound => {
                return Err(invalid!(
                    "allow_missing_files was set to false and {} did not exist.",
                    prefix.display()
                ));
            }
            other => other?,
        };
        add(&mut entries, &part, files.len()).map_err(|e| durable::with_path(prefix, e))?;
        files.extend((0..part.shards()).map(|i| data_path(prefix, i, part.shards())));
    }
    if files.is_empty() {
        return Err(invalid!("none of the {} checkpoints to merge exists", parts.len()));
    }
    for (i, file) in files.iter().enumerate() {
        std::fs::rename(file, data_path(destination, i, files.len()))
            .map_err(|e| durable::with_path(file, e))?;
    }
    write_index(destination, files.len(), &entries)?;
    remove_old(parts, destination, options.delete_old_dirs);
    Ok(())
}

/// Adds the entries of a part whose first shard becomes shard `first`.
fn add(entries: &mut Entries, part: &BundleReader, first: usize) -> Result<()> {
    for (key, mut entry) in part.entries()? {
        let shard = usize::try_from(entry.shard_id).ok().and_then(|s| i32::try_from(s + first).ok());
        entry.shard_id = match (entry.slices.is_empty(), shard) {
            (false, _) => 0,
            (true, Some(shard)) => shard,
            (true, None) => return Err(invalid!("shard {} cannot be", entry.shard_id)),
        };
        match entries.get_mut(&key) {
            None => drop(entries.insert(key, entry)),
            Some(there) => join(there, entry).map_err(|e| e.context(key.escape_ascii()))?,
        }
    }
    Ok(())
}

/// Merges the entries of a tensor that two parts have slices of.
fn join(there: &mut BundleEntryProto, more: BundleEntryProto) -> Result<()> {
    if there.slices.is_empty() || more.slices.is_empty() {
        return Err(invalid!("in more than one of the checkpoints"));
    }
    if there.dtype != more.dtype || there.shape != more.shape {
        return Err(invalid!("slices of it in two checkpoints differ in type or whole shape"));
    }
    let known = slices_of(there)?;
    if let Some(twice) = slices_of(&more)?.iter().find(|s| known.contains(s)) {
        return Err(invalid!("slice {twice} is in more than one of the checkpoints"));
    }
    there.slices.extend(more.slices);
    Ok(())
}

/// Removes the parts. The merged checkpoint is complete by now: what cannot be removed only takes up space.
fn remove_old(parts: &[PathBuf], destination: &Path, directories: bool) {
    for prefix in parts.iter().filter(|p| *p != destination) {
        drop(std::fs::remove_file(index_path(prefix)));
    }
    if directories {
        let kept = durable::directory(destination);
        let old: BTreeSet<PathBuf> = parts.iter().map(|p| durable::directory(p)).collect();
        old.iter().filter(|d| **d != kept).for_each(|d| drop(std::fs::remove_dir(d)));
    }
}
