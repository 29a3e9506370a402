use super::FileWriter;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_client::Result;

/// One event file with several writers: TensorBoard reads one file of a directory at a time.
#[derive(Clone)]
pub struct SharedWriter(Arc<Mutex<FileWriter>>);

impl SharedWriter {
    /// A new event file in this directory.
    pub fn new(logdir: impl AsRef<Path>) -> Result<SharedWriter> {
        Ok(SharedWriter(Arc::new(Mutex::new(FileWriter::new(logdir)?))))
    }

    /// Writes while holding the lock.
    pub fn with<T>(&self, write: impl FnOnce(&mut FileWriter) -> T) -> T {
        write(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
