//! Files that are there whole or not at all, also when the machine stops in between: written under another name, forced to
//! disk, then renamed.

use crate::missing;
use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use thalweg_core::error::{Code, Error, Result};

/// The same error, saying which file; and if it is not there, or is none, what is.
pub fn at(path: &Path, e: impl Into<Error>) -> Error {
    let e = e.into().context(path.display());
    match e.code() {
        Code::NotFound | Code::FailedPrecondition => match missing::hint(path) {
            Some(hint) => e.hint(hint),
            None => e,
        },
        _ => e,
    }
}

/// What the name of a file under construction has after that of the file it will be, as TensorFlow has it too.
const DRAFT: &str = ".tempstate";

/// A file under construction. Dropped before `publish`, it leaves nothing behind.
pub struct Draft {
    out: Option<BufWriter<File>>,
    temporary: PathBuf,
    path: PathBuf,
}

impl Draft {
    pub fn create(path: &Path) -> Result<Draft> {
        let (temporary, file) = temporary(path)?;
        let out = Some(BufWriter::with_capacity(1 << 18, file));
        Ok(Draft { out, temporary, path: path.to_path_buf() })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.out {
            Some(out) => out.write_all(bytes).map_err(|e| at(&self.temporary, e)),
            None => Ok(()),
        }
    }

    /// Forces the bytes to disk and gives the file its name. The name itself is on disk after `sync_directory`.
    pub fn publish(mut self) -> Result<()> {
        let done = self.out.take().map_or(Ok(()), |out| {
            let file = out.into_inner().map_err(|e| e.into_error())?;
            file.sync_all()?;
            fs::rename(&self.temporary, &self.path)
        });
        if done.is_err() {
            drop(fs::remove_file(&self.temporary));
        }
        done.map_err(|e| at(&self.path, e))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.out.take().is_some() {
            drop(fs::remove_file(&self.temporary));
        }
    }
}

/// Writes a whole file so that readers see the old or the new one, never a part.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut draft = Draft::create(path)?;
    draft.write(bytes)?;
    draft.publish()?;
    sync_directory(path)
}

/// Forces the names in a file's directory to disk.
pub fn sync_directory(of: &Path) -> Result<()> {
    let directory = directory(of);
    // Only Unix lets a directory be opened; elsewhere renaming is all that can be done.
    if cfg!(unix) {
        File::open(&directory).and_then(|d| d.sync_all()).map_err(|e| at(&directory, e))?;
    }
    Ok(())
}

/// Makes a directory and those above it that are not there, and forces their names to disk: what is saved in a new directory is lost with the
/// name of any of them.
pub fn create_directory(path: &Path) -> Result<()> {
    let is_new = |p: &&Path| !p.as_os_str().is_empty() && !p.exists();
    let made: Vec<&Path> = path.ancestors().take_while(is_new).collect();
    fs::create_dir_all(path).map_err(|e| at(path, e))?;
    made.into_iter().try_for_each(sync_directory)
}

/// Removes what a process that was killed left behind: drafts of files whose names start with that of `path`. Nobody may be writing them.
pub fn remove_drafts(path: &Path) -> Result<()> {
    let (directory, Some(name)) = (directory(path), path.file_name()) else { return Ok(()) };
    for entry in fs::read_dir(&directory).map_err(|e| at(&directory, e))? {
        let entry = entry.map_err(|e| at(&directory, e))?;
        let found = entry.file_name();
        let rest = found.as_encoded_bytes().strip_prefix(name.as_encoded_bytes());
        if rest.is_some_and(|r| r.windows(DRAFT.len()).any(|w| w == DRAFT.as_bytes())) {
            // Another may have removed it meanwhile; what stays only takes up space.
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

/// A path with more at the end of its last part: `model` and `.index`.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A new file beside `path`, under a name that nobody else is using.
fn temporary(path: &Path) -> Result<(PathBuf, File)> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let mut attempt = 0;
    loop {
        let name = with_suffix(path, &format!("{DRAFT}{}{:05}{attempt}", now.as_nanos(), std::process::id()));
        match File::create_new(&name) {
            Ok(file) => return Ok((name, file)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
            Err(e) => return Err(at(&name, e)),
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
        let mut draft = Draft::create(&path).unwrap();
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
        remove_drafts(&dir.path("m-")).unwrap();
        assert!(dir.path("m-1.index").exists() && dir.path("n.tempstate1").exists());
        assert_eq!(fs::read_dir(dir.root()).unwrap().count(), 3);
    }
}
