//! Runs steps as futures.

use super::client_threads::{ClientThreads, SessionPermits};
use super::quota::Party;
use std::sync::Arc;
use std::time::Duration;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Code, Error, Result, cancelled, deadline_exceeded, internal};
use thalweg_core::tensor::Tensor;
use thalweg_runtime::{Callable, OnDone, RunMetadata, RunOptions};
use tokio::sync::oneshot;

/// A step expected to take no longer runs on the io thread of its connection: dispatching it to another thread costs
/// more than other connections lose by waiting.
pub const QUICK: Duration = Duration::from_millis(1);

/// Limit of running partial runs of a session or a worker.
pub const MAX_PARTIAL_RUNS: usize = 10_000;

/// Runs a step. It blocks no thread while it waits, and dropping the future cancels it.
pub async fn run(
    threads: &ClientThreads,
    permits: &SessionPermits,
    party: &Party,
    callable: Callable,
    feeds: Vec<Tensor>,
    options: RunOptions,
) -> Result<(Vec<Tensor>, RunMetadata)> {
    let cancel = CancelOnDrop(Arc::default());
    let quick = callable.starts_within(QUICK);
    // Long steps use all threads even when sessions share the machine.
    let serial = options.serial && quick;
    let options = RunOptions { cancel: Some(cancel.0.clone()), serial, ..options };
    let (sender, receiver) = oneshot::channel();
    let done: OnDone = Box::new(move |result| drop(sender.send(result)));
    let timeout = options.timeout;
    if quick {
        callable.start(feeds, &options, done);
    } else {
        let start = move || callable.start(feeds, &options, done);
        let start = threads.run_with_permit(party, permits, start);
        within(timeout, &cancel.0, start).await?;
    }
    within(timeout, &cancel.0, ended(receiver)).await
}

/// Compiles on a client thread, until the deadline or the client's cancellation.
pub async fn prepare<T: Send + 'static>(
    threads: &ClientThreads,
    party: &Party,
    limit: Option<Duration>,
    work: impl FnOnce(&RunOptions) -> Result<T> + Send + 'static,
) -> Result<T> {
    let cancel = CancelOnDrop(Arc::default());
    let options = RunOptions { cancel: Some(cancel.0.clone()), timeout: limit, ..Default::default() };
    within(limit, &cancel.0, threads.prepare(party, move || work(&options))).await
}

/// Waits for a step's result.
pub async fn ended<T>(answer: oneshot::Receiver<Result<T>>) -> Result<T> {
    answer.await.unwrap_or_else(|_| Err(internal("the step was dropped without an answer")))
}

/// Cancels at the deadline.
pub async fn within<T>(
    limit: Option<Duration>,
    cancel: &Cancellation,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let Some(limit) = limit else { return work.await };
    let mut work = std::pin::pin!(work);
    if let Ok(result) = tokio::time::timeout(limit, &mut work).await {
        return result;
    }
    let e: Error = deadline_exceeded("the step did not end within its time limit");
    cancel.cancel(e.clone());
    // A cancelled step ends at once; its error may say why.
    match tokio::time::timeout(LAST_WORDS, work).await {
        Ok(Err(more)) if more.code() == Code::DeadlineExceeded => Err(more),
        _ => Err(e),
    }
}

/// Timeout for a cancelled step's own error.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Cancels when dropped: the client cancelled or disconnected.
pub struct CancelOnDrop(pub Arc<Cancellation>);

impl CancelOnDrop {
    /// Disarms the guard.
    pub fn release(mut self) {
        self.0 = Arc::default();
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        // The client is gone, or the step has ended.
        self.0.cancel(cancelled("the client has gone"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_compiles_knows_its_time_and_whether_anybody_waits() {
        let limit = Some(Duration::from_secs(77));
        let (threads, party) = (ClientThreads::new().unwrap(), crate::auth::Caller::default().party);
        let asked = |o: &RunOptions| Ok((o.timeout, o.cancel.clone()));
        let (timeout, cancel) = prepare(&threads, &party, limit, asked).await.unwrap();
        assert_eq!(timeout, limit);
        assert!(cancel.unwrap().reason().is_some(), "nobody waits any more");
    }

    /// A step that blocks until it is cancelled, with this result.
    async fn ends_with(cancel: &Arc<Cancellation>, end: Result<()>) -> Result<()> {
        let (tx, rx) = oneshot::channel::<()>();
        let tx = std::sync::Mutex::new(Some(tx));
        cancel.on_cancel(move |_: &Error| drop(tx.lock().unwrap().take()));
        let _ = rx.await;
        end
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_whose_time_is_over_says_whom_it_waited_for_if_it_knows() {
        let second = Some(Duration::from_secs(1));
        for (end, said) in [
            (Err(deadline_exceeded("waited for ps")), "waited for ps"),
            (Err(cancelled("cancelled")), "the step did not end within its time limit"),
            (Ok(()), "the step did not end within its time limit"),
        ] {
            let cancel = Arc::<Cancellation>::default();
            let e = within(second, &cancel, ends_with(&cancel, end)).await.unwrap_err();
            assert_eq!((e.code(), e.message()), (Code::DeadlineExceeded, said));
        }
        let cancel = Arc::<Cancellation>::default();
        assert!(within(second, &cancel, async { Ok(()) }).await.is_ok());
        let e = within(second, &cancel, std::future::pending::<Result<()>>()).await.unwrap_err();
        assert_eq!(e.code(), Code::DeadlineExceeded);
    }

    #[test]
    fn what_is_released_goes_on() {
        let (dropped, released) = (Arc::<Cancellation>::default(), Arc::<Cancellation>::default());
        drop(CancelOnDrop(dropped.clone()));
        CancelOnDrop(released.clone()).release();
        assert!(dropped.reason().is_some() && released.reason().is_none());
    }
}
