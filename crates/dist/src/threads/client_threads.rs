//! Threads for long work: compiling plans, importing graphs, long steps.

use super::priority;
use super::quota::{Party, ThreadPermit, ThreadQuota};
use std::sync::Arc;
use thalweg_core::error::{Result, internal};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;

/// Runs on an administration thread, so that io threads do not block. The work must be short, whatever
/// clients do: work of unbounded length has its own threads.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(e) => Err(internal(format_args!("the request could not be worked on: {e}"))),
    }
}

/// Drops a large value on such a thread, if there is one.
pub fn drop_in_background<T: Send + 'static>(large: T) {
    if let Ok(runtime) = Handle::try_current() {
        drop(runtime.spawn_blocking(move || drop(large)));
    }
}

/// Threads for clients' work, with a fair quota. They are separate from those of administration: endless steps must not
/// prevent closing sessions. Steps and preparation have separate quotas.
pub struct ClientThreads {
    threads: Option<Runtime>,
    steps: Arc<ThreadQuota>,
    preparations: Arc<ThreadQuota>,
}

/// Threads for each of the two quotas, minimum and per core; and for the steps of one session.
const THREADS: usize = 512;
const OF_CORE: usize = 64;
const OF_SESSION: usize = 8;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

impl ClientThreads {
    pub fn new() -> Result<ClientThreads> {
        let all = THREADS.max(OF_CORE * cores());
        let mut builder = Builder::new_current_thread();
        let builder = builder.max_blocking_threads(2 * all).thread_name("thalweg-client");
        let base = priority::base();
        let builder = builder.on_thread_start(move || priority::lower(base));
        let builder = builder.on_thread_stop(thalweg_core::memory::end_thread);
        Ok(ClientThreads {
            threads: Some(builder.build()?),
            steps: ThreadQuota::new(all),
            preparations: ThreadQuota::new(all),
        })
    }

    /// Runs preparation (compiling, importing) on a thread, when this party has a permit.
    pub async fn prepare<T: Send + 'static>(
        &self,
        party: &Party,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.work(self.preparations.take(party).await?, work).await?
    }

    /// Runs a step on a thread, when this party has a permit.
    pub async fn run<T: Send + 'static>(
        &self,
        party: &Party,
        step: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        self.work(self.steps.take(party).await?, step).await
    }

    async fn work<T: Send + 'static>(
        &self,
        permit: ThreadPermit,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let threads = self.threads.as_ref().ok_or_else(|| internal("the task has ended"))?;
        let worked = threads.spawn_blocking(move || {
            let _turn = permit;
            work()
        });
        worked.await.map_err(|e| internal(format_args!("the request could not be worked on: {e}")))
    }

    /// As `run`, within the permits of its session.
    pub async fn run_with_permit<T: Send + 'static>(
        &self,
        party: &Party,
        permits: &SessionPermits,
        step: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let permit =
            permits.0.clone().acquire_owned().await.map_err(|_| internal("the session has ended"))?;
        self.run(party, move || {
            let _turn = permit;
            step()
        })
        .await
    }
}

impl Drop for ClientThreads {
    fn drop(&mut self) {
        // Running steps have been cancelled; they are not joined.
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

/// Limits the threads of one session's steps.
pub struct SessionPermits(Arc<Semaphore>);

impl Default for SessionPermits {
    fn default() -> SessionPermits {
        SessionPermits(Arc::new(Semaphore::new(OF_SESSION.max(2 * cores()))))
    }
}
