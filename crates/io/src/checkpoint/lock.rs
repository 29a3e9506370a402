//! A lock on a directory of checkpoints, so that only one process trains into it.

use crate::durable;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;
use thalweg_core::error::{Code, Error, Result};

/// The lock file. It is not removed with the lock: otherwise two processes could lock two files of that name.
pub const LOCK_FILE: &str = "training.lock";

/// Held while a process trains into a directory. The operating system releases it when the process ends, however it ends.
pub struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Acquires the lock of a directory, which is created if missing. Aborted, with the holder's process id, if it is held.
    pub fn take(directory: &Path) -> Result<DirectoryLock> {
        durable::create_directory(directory)?;
        let path = directory.join(LOCK_FILE);
        let at = |e: std::io::Error| durable::with_path(&path, e);
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = opened.map_err(at)?;
        match file.try_lock() {
            Ok(()) => write_pid(&mut file).map_err(at)?,
            Err(TryLockError::WouldBlock) => return Err(already_held(directory, &mut file)),
            // A file system without locks; training on it is not rejected.
            Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(e)) => return Err(at(e)),
        }
        Ok(DirectoryLock { _file: file })
    }
}

/// Writes the process id, for the error of others.
fn write_pid(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn already_held(directory: &Path, file: &mut File) -> Error {
    let mut text = String::new();
    // The holder may not have written its process id yet.
    let read = file.take(32).read_to_string(&mut text);
    let holder = match read.ok().and_then(|_| text.trim().parse::<u32>().ok()) {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_string(),
    };
    let text = format!(
        "{holder} is training into {}; wait until it has ended, or choose another folder",
        directory.display()
    );
    Error::new(Code::Aborted, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn two_trainers_do_not_share_a_directory() {
        let dir = Scratch::new();
        let place = dir.path("new/run");
        let first = DirectoryLock::take(&place).unwrap();
        let e = DirectoryLock::take(&place).err().unwrap();
        assert_eq!(e.code(), Code::Aborted);
        assert!(e.message().contains(&format!("process {} is training", std::process::id())), "{e}");
        drop(first);
        assert!(DirectoryLock::take(&place).is_ok());
    }

    #[test]
    fn a_stale_lock_file_does_not_block() {
        let dir = Scratch::new();
        std::fs::write(dir.path(LOCK_FILE), "4194305\n4194305\n").unwrap();
        let _held = DirectoryLock::take(dir.root()).unwrap();
        let own = format!("{}\n", std::process::id());
        assert_eq!(std::fs::read_to_string(dir.path(LOCK_FILE)).unwrap(), own);
    }
}
