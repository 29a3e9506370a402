//! Work that takes long but waits for nobody: compiling plans, reading graphs, large steps.

use thalweg_core::error::{Result, internal};

/// Runs on a thread made for such work, so that the threads that serve connections go on serving.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(e) => Err(internal(format!("the request could not be worked on: {e}"))),
    }
}
