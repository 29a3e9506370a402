//! Temporary directories: for tests, and for models without a directory.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A temporary directory, removed on drop.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new directory in the system's temporary directory. One left by a killed process of the same id is not reused.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Scratch {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let next = || {
            let name = format!("thalweg-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            std::env::temp_dir().join(name)
        };
        let mut path = next();
        while std::fs::create_dir(&path).is_err_and(|e| e.kind() == ErrorKind::AlreadyExists) {
            path = next();
        }
        Scratch(path)
    }

    pub fn root(&self) -> &Path {
        &self.0
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
