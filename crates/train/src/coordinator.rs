//! `Coordinator`: several threads that stop together.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use thalweg_client::{Cancellation, Code, Error, Result, RunOptions};

/// Threads ask it whether to stop, and any of them may request it. Clones are the same coordinator.
///
/// ```
/// use thalweg_train::Coordinator;
///
/// let all = Coordinator::new();
/// all.spawn("counter", |all| {
///     let mut n = 0;
///     while !all.should_stop() {
///         n += 1;
///         if n == 100 {
///             all.request_stop();
///         }
///     }
///     Ok(())
/// })?;
/// all.join()?;
/// # Ok::<(), thalweg_client::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Coordinator(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    stopped: Condvar,
    cancel: Arc<Cancellation>,
}

#[derive(Default)]
struct State {
    stop: bool,
    error: Option<Error>,
    threads: Vec<JoinHandle<()>>,
}

impl Coordinator {
    /// A coordinator without threads.
    pub fn new() -> Coordinator {
        Coordinator::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether any thread has requested a stop.
    pub fn should_stop(&self) -> bool {
        self.lock().stop
    }

    /// Requests a stop of all threads, and cancels runs with [`Coordinator::run_options`].
    pub fn request_stop(&self) {
        self.stop(None);
    }

    /// As `request_stop`, with an error; [`Coordinator::join`] returns the first. `OutOfRange`, the end of the input, is no
    /// error, and neither are errors caused by the stop.
    pub fn request_stop_with(&self, e: Error) {
        self.stop(Some(e).filter(|e| e.code() != Code::OutOfRange));
    }

    fn stop(&self, error: Option<Error>) {
        {
            let mut state = self.lock();
            if !state.stop {
                state.stop = true;
                state.error = error;
            }
        }
        self.0.stopped.notify_all();
        self.0.cancel.cancel(Error::new(Code::Cancelled, "the coordinator has asked all threads to stop"));
    }

    /// Blocks until a stop is requested.
    pub fn wait_for_stop(&self) {
        let mut state = self.lock();
        while !state.stop {
            state = self.0.stopped.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Options for runs that a stop cancels.
    pub fn run_options(&self) -> RunOptions {
        RunOptions { cancel: Some(self.0.cancel.clone()), ..Default::default() }
    }

    /// Starts a thread. An error of its body, or a panic, stops all.
    pub fn spawn(
        &self,
        name: &str,
        body: impl FnOnce(&Coordinator) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let this = self.clone();
        let run = move || {
            let _guard = StopOnPanic(&this);
            if let Err(e) = body(&this) {
                this.request_stop_with(e);
            }
        };
        let thread = Builder::new().name(name.to_string()).spawn(run).map_err(Error::from)?;
        self.lock().threads.push(thread);
        Ok(())
    }

    /// Waits until all threads have ended, also those started meanwhile, and returns the error that stopped them, if any. Must not be
    /// called from one of them.
    pub fn join(&self) -> Result<()> {
        loop {
            let threads = std::mem::take(&mut self.lock().threads);
            if threads.is_empty() {
                break;
            }
            for thread in threads {
                // The guard has turned a panic into an error.
                drop(thread.join());
            }
        }
        self.lock().error.clone().map_or(Ok(()), Err)
    }
}

/// Turns a panic of the thread that holds it into an error for all.
struct StopOnPanic<'a>(&'a Coordinator);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        let name = std::thread::current().name().unwrap_or_default().to_string();
        self.0.request_stop_with(Error::new(Code::Internal, format_args!("thread '{name}' has panicked")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_stops_all_and_is_told() {
        let all = Coordinator::new();
        all.spawn("waits", |all| {
            all.wait_for_stop();
            Err(Error::new(Code::Aborted, "because of the other"))
        })
        .unwrap();
        all.spawn("fails", |_| Err(Error::new(Code::DataLoss, "first"))).unwrap();
        let e = all.join().unwrap_err();
        assert_eq!((e.code(), e.message()), (Code::DataLoss, "first"));
        assert!(all.run_options().cancel.unwrap().is_cancelled());
    }

    #[test]
    fn the_end_of_the_input_is_no_error_and_a_panic_is_one() {
        let all = Coordinator::new();
        all.spawn("ends", |_| Err(Error::new(Code::OutOfRange, "no more"))).unwrap();
        all.wait_for_stop();
        all.join().unwrap();
        let all = Coordinator::new();
        all.spawn("panics", |_| panic!("on purpose")).unwrap();
        assert_eq!(all.join().unwrap_err().code(), Code::Internal);
    }
}
