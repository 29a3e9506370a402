//! Directories of exported models: written under another name and renamed, so that servers never see a part of one.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use thalweg_client::{Code, Error, Result};
use thalweg_io::durable;

/// A new version of a model in `base`: a directory named by the time in seconds, larger than all there are.
pub fn next_version(base: &Path) -> Result<PathBuf> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let entries = match std::fs::read_dir(base) {
        Ok(entries) => entries.flatten().collect(),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(durable::with_path(base, e)),
    };
    let versions = entries.iter().filter_map(|e| e.file_name().to_str()?.parse::<u64>().ok());
    let newest = versions.max().unwrap_or(0);
    Ok(base.join(now.max(newest.saturating_add(1)).to_string()))
}

/// A directory under a temporary name; removed unless it is finished.
pub(super) struct Unfinished {
    temporary: PathBuf,
    directory: PathBuf,
    finished: bool,
}

impl Unfinished {
    pub fn create(directory: &Path) -> Result<Unfinished> {
        if directory.exists() {
            let e = Error::new(Code::AlreadyExists, format!("{} exists already", directory.display()));
            return Err(e.hint("export to a new directory, or remove this one"));
        }
        let name = directory.file_name().map(|n| n.to_string_lossy().into_owned());
        let name =
            name.ok_or_else(|| Error::new(Code::InvalidArgument, "a model needs a directory of its own"))?;
        let temporary = durable::directory(directory).join(format!("temp-{name}-{}", std::process::id()));
        if temporary.exists() {
            std::fs::remove_dir_all(&temporary).map_err(|e| durable::with_path(&temporary, e))?;
        }
        durable::create_directory(&temporary)?;
        Ok(Unfinished { temporary, directory: directory.to_path_buf(), finished: false })
    }

    pub fn path(&self) -> &Path {
        &self.temporary
    }

    pub fn finish(mut self) -> Result<()> {
        std::fs::rename(&self.temporary, &self.directory)
            .map_err(|e| durable::with_path(&self.directory, e))?;
        self.finished = true;
        durable::sync_directory(&self.directory)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.finished {
            // It only takes up space.
            drop(std::fs::remove_dir_all(&self.temporary));
        }
    }
}
