//! Work that takes long but waits for nobody: compiling plans, reading graphs, large steps.

use std::sync::Arc;
use thalweg_core::error::{Result, internal};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

/// Runs on a thread made for such work, so that the threads that serve connections go on serving.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(e) => Err(internal(format_args!("the request could not be worked on: {e}"))),
    }
}

/// Threads for steps that keep theirs. They are not those of other work: steps without end must not keep sessions from being made
/// and closed.
pub struct StepThreads(Option<Runtime>);

/// Steps at a time that keep a thread: all together, and those of one session.
const THREADS: usize = 256;
const OF_SESSION: usize = 8;

impl StepThreads {
    pub fn new() -> Result<StepThreads> {
        let mut builder = Builder::new_current_thread();
        let builder = builder.max_blocking_threads(THREADS).thread_name("thalweg-step");
        Ok(StepThreads(Some(builder.build()?)))
    }

    /// Runs a step on a thread of its own.
    pub async fn run(&self, step: impl FnOnce() + Send + 'static) -> Result<()> {
        let threads = self.0.as_ref().ok_or_else(|| internal("the task has ended"))?;
        threads
            .spawn_blocking(step)
            .await
            .map_err(|e| internal(format_args!("the step could not be run: {e}")))
    }

    /// As `run`, when it is the step's turn among those of its session.
    pub async fn run_in_turn(
        &self,
        turns: &SessionTurns,
        step: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        let turn = turns.0.clone().acquire_owned().await.map_err(|_| internal("the session has ended"))?;
        self.run(move || {
            step();
            drop(turn);
        })
        .await
    }
}

impl Drop for StepThreads {
    fn drop(&mut self) {
        // Steps that still run have been cancelled; nobody waits for them.
        if let Some(threads) = self.0.take() {
            threads.shutdown_background();
        }
    }
}

/// Those of one session's steps that may keep a thread: it leaves threads to the others.
pub struct SessionTurns(Arc<Semaphore>);

impl Default for SessionTurns {
    fn default() -> SessionTurns {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        SessionTurns(Arc::new(Semaphore::new(OF_SESSION.max(2 * cores))))
    }
}
