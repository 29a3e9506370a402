//! `Waiting`: a state shared by steps, and the requests that wait until it allows them. No thread blocks: whenever the state changes, the
//! requests are tried again, the oldest first. They complete after the lock is released, so that their callbacks may use the state again.

use crate::prelude::*;
use std::collections::{LinkedList, VecDeque};
use std::sync::Mutex;
use thalweg_core::cancel::Cancellation;
use thalweg_core::sync::lock;

pub struct Waiting<S> {
    inner: Mutex<Inner<S>>,
}

struct Inner<S> {
    state: S,
    pending: VecDeque<Pending<S>>,
    next_id: u64,
}

/// Tries a request: its outputs or error, or `None` to wait on.
pub type Attempt<S> = Box<dyn FnMut(&mut S) -> Option<Result<Outputs>> + Send>;

struct Pending<S> {
    id: u64,
    attempt: Attempt<S>,
    done: Done,
    /// To unregister the cancellation callback.
    cancel: Option<(Arc<Cancellation>, u64)>,
}

/// Requests to complete once the lock is released. A linked list: many of them must not need a large allocation.
type Completions<S> = LinkedList<(Pending<S>, Result<Outputs>)>;

impl<S: Send + 'static> Waiting<S> {
    pub fn new(state: S) -> Waiting<S> {
        Waiting { inner: Mutex::new(Inner { state, pending: VecDeque::new(), next_id: 0 }) }
    }

    /// Reads the state.
    pub fn look<R>(&self, look: impl FnOnce(&S) -> R) -> R {
        look(&lock(&self.inner).state)
    }

    /// Changes the state, and completes the requests that it now allows.
    pub fn change<R>(&self, change: impl FnOnce(&mut S) -> R) -> R {
        let (result, due) = {
            let mut inner = lock(&self.inner);
            let result = change(&mut inner.state);
            (result, inner.serve())
        };
        complete(due);
        result
    }

    /// Completes with the outputs of the attempt as soon as it has any; with an error when the step is cancelled.
    pub fn submit(
        self: &Arc<Self>,
        cancel: &Arc<Cancellation>,
        what: &'static str,
        attempt: Attempt<S>,
        done: Done,
    ) {
        let (id, waits, due) = {
            let mut inner = lock(&self.inner);
            if let Err(e) = reserve::room(&mut inner.pending, 1) {
                drop(inner);
                return done(Err(e));
            }
            let id = inner.next_id;
            inner.next_id += 1;
            inner.pending.push_back(Pending { id, attempt, done, cancel: None });
            let due = inner.serve();
            (id, inner.pending.iter().any(|p| p.id == id), due)
        };
        complete(due);
        if !waits {
            return;
        }
        let this = self.clone();
        let token = cancel.on_cancel(move |_| this.leave(id, what));
        let mut inner = lock(&self.inner);
        match inner.pending.iter_mut().find(|p| p.id == id) {
            Some(pending) => pending.cancel = Some((cancel.clone(), token)),
            None => {
                drop(inner);
                cancel.forget(token); // Completed meanwhile.
            }
        }
    }

    /// Removes a request whose step was cancelled.
    fn leave(&self, id: u64, what: &str) {
        let gone = {
            let mut inner = lock(&self.inner);
            let at = inner.pending.iter().position(|p| p.id == id);
            at.and_then(|at| inner.pending.remove(at))
        };
        if let Some(pending) = gone {
            (pending.done)(Err(cancelled(format_args!("{what} operation was cancelled"))));
        }
    }

    /// Fails all requests: the state is deleted.
    pub fn fail_all(&self, what: &str) {
        let gone = std::mem::take(&mut lock(&self.inner).pending);
        complete(gone.into_iter().map(|p| (p, Err(cancelled(format_args!("{what} was deleted"))))).collect());
    }
}

impl<S> Inner<S> {
    /// Tries the requests, in order, until none makes progress.
    fn serve(&mut self) -> Completions<S> {
        let mut due = LinkedList::new();
        loop {
            let (mut at, mut progress) = (0, false);
            while let Some(pending) = self.pending.get_mut(at) {
                match (pending.attempt)(&mut self.state) {
                    None => at += 1,
                    Some(result) => {
                        progress = true;
                        due.extend(self.pending.remove(at).map(|p| (p, result)));
                    }
                }
            }
            if !progress || self.pending.is_empty() {
                return due;
            }
        }
    }
}

fn complete<S>(due: Completions<S>) {
    for (pending, result) in due {
        if let Some((cancel, token)) = pending.cancel {
            cancel.forget(token);
        }
        (pending.done)(result);
    }
}
