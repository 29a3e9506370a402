//! Crash-consistent writes: to a temporary file, which is synced (fsync) and then atomically renamed. A crash leaves the old file
//! or the new one, never a part.

use crate::path_hint;
use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use thalweg_core::error::{Code, Error, Result};

/// Adds the path to an error, and a hint if no file is there.
pub fn with_path(path: &Path, e: impl Into<Error>) -> Error {
    let e = e.into().context(path.display());
    match e.code() {
        Code::NotFound | Code::FailedPrecondition => match path_hint::hint(path) {
            Some(hint) => e.hint(hint),
            None => e,
        },
        _ => e,
    }
}

/// The suffix of temporary files, which is TensorFlow's.
const TEMPORARY: &str = ".tempstate";

/// A temporary file that becomes `path` on `commit`. Dropped before, it is removed.
pub struct AtomicFile {
    out: Option<BufWriter<File>>,
    temporary: PathBuf,
    path: PathBuf,
}

impl AtomicFile {
    pub fn create(path: &Path) -> Result<AtomicFile> {
        let (temporary, file) = temporary(path)?;
        let out = Some(BufWriter::with_capacity(1 << 18, file));
        Ok(AtomicFile { out, temporary, path: path.to_path_buf() })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.out {
            Some(out) => out.write_all(bytes).map_err(|e| with_path(&self.temporary, e)),
            None => Ok(()),
        }
    }

    /// Syncs the bytes and renames the file. The rename is durable after `sync_directory`.
    pub fn commit(mut self) -> Result<()> {
        let done = self.out.take().map_or(Ok(()), |out| {
            let file = out.into_inner().map_err(|e| e.into_error())?;
            file.sync_all()?;
            fs::rename(&self.temporary, &self.path)
        });
        if done.is_err() {
            drop(fs::remove_file(&self.temporary));
        }
        done.map_err(|e| with_path(&self.path, e))
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if self.out.take().is_some() {
            drop(fs::remove_file(&self.temporary));
        }
    }
}

/// Replaces a file atomically: readers see the old or the new one, never a part.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write(bytes)?;
    file.commit()?;
    sync_directory(path)
}

/// Syncs (fsync) a file's directory.
pub fn sync_directory(of: &Path) -> Result<()> {
    let directory = directory(of);
    // Only Unix can open a directory; elsewhere the rename alone must do.
    if cfg!(unix) {
        File::open(&directory).and_then(|d| d.sync_all()).map_err(|e| with_path(&directory, e))?;
    }
    Ok(())
}

/// Creates a directory with its missing parents, and syncs the parents: a checkpoint in a new directory is lost with the
/// directory entry of any of them.
pub fn create_directory(path: &Path) -> Result<()> {
    let is_new = |p: &&Path| !p.as_os_str().is_empty() && !p.exists();
    let made: Vec<&Path> = path.ancestors().take_while(is_new).collect();
    fs::create_dir_all(path).map_err(|e| with_path(path, e))?;
    made.into_iter().try_for_each(sync_directory)
}

/// Removes the temporary files of a killed process, of all files whose names start with that of `path`. No other process may be
/// writing them.
pub fn remove_temporary_files(path: &Path) -> Result<()> {
    let (directory, Some(name)) = (directory(path), path.file_name()) else { return Ok(()) };
    for entry in fs::read_dir(&directory).map_err(|e| with_path(&directory, e))? {
        let entry = entry.map_err(|e| with_path(&directory, e))?;
        let found = entry.file_name();
        let rest = found.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
        if rest.is_some_and(|r| r.windows(TEMPORARY.len()).any(|w| w == TEMPORARY.as_bytes())) {
            // Already removed, or it only takes up space.
            drop(fs::remove_file(entry.path()));
        }
    }
    Ok(())
}

/// The directory that a file is in.
pub fn directory(of: &Path) -> PathBuf {
    match of.parent() {
        Some(p) if !p.as_os_str().is_empty() => p.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Appends to the last component of a path: `model` and `.index`.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A new temporary file beside `path`, of a unique name.
fn temporary(path: &Path) -> Result<(PathBuf, File)> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut attempt = 0;
    loop {
        let name =
            with_suffix(path, &format!("{TEMPORARY}{}{:05}{attempt}", now.as_nanos(), std::process::id()));
        match File::create_new(&name) {
            Ok(file) => return Ok((name, file)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
            Err(e) => return Err(with_path(&name, e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_draft_that_is_dropped_leaves_nothing() {
        let dir = Scratch::new();
        let path = dir.path("x");
        let mut draft = AtomicFile::create(&path).unwrap();
        draft.write(b"half").unwrap();
        drop(draft);
        assert_eq!(fs::read_dir(dir.root()).unwrap().count(), 0);
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.root()).unwrap().count(), 1);
    }

    #[test]
    fn directories_are_made_with_those_above_them() {
        let dir = Scratch::new();
        let deep = dir.path("a/b/c");
        create_directory(&deep).unwrap();
        assert!(deep.is_dir());
        create_directory(&deep).unwrap();
        write(&dir.path("file"), b"").unwrap();
        let e = create_directory(&dir.path("file/x")).unwrap_err();
        assert!(e.to_string().contains("file is a file, not a folder"), "{e}");
    }

    #[test]
    fn drafts_of_the_killed_are_removed_and_nothing_else() {
        let dir = Scratch::new();
        for name in [
            "m-1.index",
            "m-2.data-00000-of-00001",
            "m-1.index.tempstate17",
            "m-2.data-00000-of-00001.tempstate1",
            "n.tempstate1",
        ] {
            fs::write(dir.path(name), "").unwrap();
        }
        remove_temporary_files(&dir.path("m-")).unwrap();
        assert!(dir.path("m-1.index").exists() && dir.path("n.tempstate1").exists());
        assert_eq!(fs::read_dir(dir.root()).unwrap().count(), 3);
    }
}
