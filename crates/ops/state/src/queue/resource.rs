//! `Queue`: the elements, and the pending requests to enqueue or dequeue some.
//!
//! No thread blocks. Requests wait in two queues, of producers and of consumers; whenever something changes, both are
//! served from the front until neither makes progress. EnqueueMany adds elements as there is room, DequeueMany collects
//! them as they arrive (from a priority queue it takes all at once, as they must be the first of all), and no later request
//! overtakes it. Requests complete after the lock is released, so that their callbacks may use the queue again.

use super::items::{Items, Taken, Tuple};
use crate::prelude::*;
use std::any::Any;
use std::collections::{LinkedList, VecDeque};
use std::sync::Mutex;
use thalweg_core::cancel::Cancellation;
use thalweg_core::resource::Resource;
use thalweg_core::sync::lock;

/// The configuration of a queue; nodes of the same shared name must agree on it.
#[derive(Clone, PartialEq, Debug)]
pub struct Spec {
    /// `FIFOQueue`, `RandomShuffleQueue`, …
    pub kind: &'static str,
    pub types: Vec<DataType>,
    /// Shapes of the components of an element; empty if any shape is allowed.
    pub shapes: Vec<PartialShape>,
    /// Most elements; negative for no limit.
    pub capacity: i64,
    /// Elements kept for shuffling while the queue is open.
    pub min_after_dequeue: usize,
    pub seeds: (i64, i64),
}

pub struct Queue {
    pub name: String,
    pub spec: Spec,
    state: Mutex<State>,
}

struct State {
    items: Items,
    closed: bool,
    producers: VecDeque<PendingRequest<Add>>,
    consumers: VecDeque<PendingRequest<Take>>,
    next_id: u64,
}

/// A pending request.
struct PendingRequest<R> {
    id: u64,
    request: R,
    done: Answer,
    /// To unregister the cancellation callback.
    cancel: Option<(Arc<Cancellation>, u64)>,
}

/// Called with the dequeued elements, none for a producer.
pub type Answer = Box<dyn FnOnce(Result<Vec<Tuple>>) + Send>;

enum Add {
    Elements(VecDeque<Tuple>),
    /// Takes effect after the pending producers.
    Close,
}

struct Take {
    /// Elements still missing.
    missing: usize,
    taken: Vec<Taken>,
    /// Returns fewer if the queue is closed.
    fewer: bool,
}

/// Requests to complete once the lock is released. A linked list: many of them must not need a large allocation.
type Completions = LinkedList<(Answer, Option<(Arc<Cancellation>, u64)>, Result<Vec<Tuple>>)>;

impl Queue {
    pub fn new(name: String, spec: Spec, items: Items) -> Queue {
        let (producers, consumers) = (VecDeque::new(), VecDeque::new());
        Queue {
            name,
            spec,
            state: Mutex::new(State { items, closed: false, producers, consumers, next_id: 0 }),
        }
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.state).items.len()
    }

    pub fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Adds elements, one after another as there is room; completes when all are in.
    pub fn enqueue(self: &Arc<Self>, elements: VecDeque<Tuple>, cancel: &Arc<Cancellation>, done: Answer) {
        self.join(cancel, "Enqueue", |state, id, due| {
            let request = Add::Elements(elements);
            submit(&mut state.producers, PendingRequest { id, request, done, cancel: None }, due);
        });
    }

    /// Takes `n` elements; or, with `fewer`, those that a closed queue has left.
    pub fn dequeue(self: &Arc<Self>, n: usize, fewer: bool, cancel: &Arc<Cancellation>, done: Answer) {
        self.join(cancel, "Dequeue", |state, id, due| {
            let request = Take { missing: n, taken: Vec::new(), fewer };
            submit(&mut state.consumers, PendingRequest { id, request, done, cancel: None }, due);
        });
    }

    /// Closes the queue after the pending producers.
    pub fn close(self: &Arc<Self>, cancel: &Arc<Cancellation>, done: Answer) {
        self.join(cancel, "Close", |state, id, due| {
            submit(&mut state.producers, PendingRequest { id, request: Add::Close, done, cancel: None }, due);
        });
    }

    /// Closes the queue now; the pending producers are cancelled.
    pub fn close_and_cancel(&self) {
        let mut due = Completions::new();
        {
            let mut state = lock(&self.state);
            state.closed = true;
            let refused = || Err(cancelled("Enqueue operation was cancelled"));
            due.extend(state.producers.drain(..).map(|w| (w.done, w.cancel, refused())));
            self.serve(&mut state, &mut due);
        }
        complete(due);
    }

    fn join(
        self: &Arc<Self>,
        cancel: &Arc<Cancellation>,
        what: &'static str,
        add: impl FnOnce(&mut State, u64, &mut Completions),
    ) {
        let mut due = Completions::new();
        let (id, waits) = {
            let mut state = lock(&self.state);
            let id = state.next_id;
            state.next_id += 1;
            add(&mut state, id, &mut due);
            self.serve(&mut state, &mut due);
            (id, state.waits(id))
        };
        complete(due);
        if !waits {
            return;
        }
        let queue = self.clone();
        let token = cancel.on_cancel(move |_| queue.leave(id, what));
        if !lock(&self.state).remember(id, cancel, token) {
            cancel.forget(token); // Completed meanwhile.
        }
    }

    /// Removes a request whose step was cancelled. The elements a consumer had collected are put back.
    fn leave(&self, id: u64, what: &'static str) {
        let mut due = Completions::new();
        {
            let mut state = lock(&self.state);
            let gone = || Err(cancelled(format_args!("{what} operation was cancelled")));
            if let Some(w) = remove(&mut state.producers, id) {
                due.push_back((w.done, None, gone()));
            } else if let Some(w) = remove(&mut state.consumers, id) {
                state.items.put_back(w.request.taken);
                due.push_back((w.done, None, gone()));
            }
            self.serve(&mut state, &mut due);
        }
        complete(due);
    }

    /// Serves producers and consumers from the front until neither makes progress.
    fn serve(&self, state: &mut State, due: &mut Completions) {
        loop {
            let produced = self.serve_producers(state, due);
            let consumed = self.serve_consumers(state, due);
            if !produced && !consumed {
                return;
            }
        }
    }

    fn serve_producers(&self, state: &mut State, due: &mut Completions) -> bool {
        let room = usize::try_from(self.spec.capacity).unwrap_or(usize::MAX);
        let mut moved = false;
        while let Some(first) = state.producers.front_mut() {
            let result = match &mut first.request {
                Add::Elements(_) if state.closed => {
                    Err(cancelled(format_args!("{} '{}' is closed.", self.spec.kind, self.name)))
                }
                Add::Close if state.closed => {
                    Err(cancelled(format_args!("Queue '{}' is already closed.", self.name)))
                }
                Add::Close => {
                    state.closed = true;
                    Ok(vec![])
                }
                Add::Elements(elements) => {
                    // Only the first consumer holds some.
                    let reserved = state.consumers.front().map_or(0, |w| w.request.taken.len());
                    let before = elements.len();
                    let added = add_some(&mut state.items, elements, room, reserved);
                    moved |= elements.len() < before;
                    if added.is_ok() && !elements.is_empty() {
                        return moved;
                    }
                    added.map(|()| vec![])
                }
            };
            moved = true;
            if let Some(w) = state.producers.pop_front() {
                due.push_back((w.done, w.cancel, result));
            }
        }
        moved
    }

    fn serve_consumers(&self, state: &mut State, due: &mut Completions) -> bool {
        let mut moved = false;
        while let Some(first) = state.consumers.front_mut() {
            let want = &mut first.request;
            let held = state.items.len();
            let mut short = None;
            if state.closed && held < want.missing {
                short = Some(out_of_range(format_args!(
                    "{} '{}' is closed and has insufficient elements (requested {}, current size {held})",
                    self.spec.kind, self.name, want.missing
                )));
                if want.fewer && held + want.taken.len() > 0 {
                    want.missing = held;
                    short = None;
                }
            }
            let spare = if state.closed { held } else { held.saturating_sub(self.spec.min_after_dequeue) };
            if short.is_none() {
                if spare < want.missing && state.items.first_of_all() {
                    return moved;
                }
                match want.take(&mut state.items, spare) {
                    Ok(some) => moved |= some,
                    Err(e) => short = Some(e),
                }
                if short.is_none() && want.missing > 0 {
                    return moved;
                }
            }
            moved = true;
            if let Some(w) = state.consumers.pop_front() {
                let room = reserve::with_capacity(w.request.taken.len());
                let result = match short.map_or(room, Err) {
                    Ok(mut tuples) => {
                        tuples.extend(w.request.taken.into_iter().map(|t| t.tuple));
                        Ok(tuples)
                    }
                    Err(e) => {
                        state.items.put_back(w.request.taken);
                        Err(e)
                    }
                };
                due.push_back((w.done, w.cancel, result));
            }
        }
        moved
    }
}

impl State {
    fn waits(&self, id: u64) -> bool {
        self.producers.iter().any(|w| w.id == id) || self.consumers.iter().any(|w| w.id == id)
    }

    fn remember(&mut self, id: u64, cancel: &Arc<Cancellation>, token: u64) -> bool {
        let producers = self.producers.iter_mut().map(|w| (w.id, &mut w.cancel));
        let consumers = self.consumers.iter_mut().map(|w| (w.id, &mut w.cancel));
        match producers.chain(consumers).find(|(i, _)| *i == id) {
            Some((_, slot)) => {
                *slot = Some((cancel.clone(), token));
                true
            }
            None => false,
        }
    }
}

impl Take {
    /// Takes up to the missing number of spare elements. Whether it took any.
    fn take(&mut self, items: &mut Items, spare: usize) -> Result<bool> {
        let n = spare.min(self.missing);
        reserve::room(&mut self.taken, n)?;
        for _ in 0..n {
            let Some(taken) = items.take() else { break };
            self.taken.push(taken);
            self.missing -= 1;
        }
        Ok(n > 0)
    }
}

/// Adds elements up to a total of `room`.
fn add_some(items: &mut Items, elements: &mut VecDeque<Tuple>, room: usize, reserved: usize) -> Result<()> {
    while items.len() < room {
        let Some(tuple) = elements.pop_front() else { break };
        items.put(tuple, reserved)?;
    }
    Ok(())
}

/// Enqueues a request; if out of memory, it completes with the error.
fn submit<R>(requests: &mut VecDeque<PendingRequest<R>>, request: PendingRequest<R>, due: &mut Completions) {
    match reserve::room(requests, 1) {
        Ok(()) => requests.push_back(request),
        Err(e) => due.push_back((request.done, None, Err(e))),
    }
}

fn remove<R>(requests: &mut VecDeque<PendingRequest<R>>, id: u64) -> Option<PendingRequest<R>> {
    let at = requests.iter().position(|w| w.id == id)?;
    requests.remove(at)
}

fn complete(due: Completions) {
    for (done, cancel, result) in due {
        if let Some((cancel, token)) = cancel {
            cancel.forget(token);
        }
        done(result);
    }
}

impl Resource for Queue {
    fn kind(&self) -> &'static str {
        self.spec.kind
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    /// Cancels the pending requests.
    fn discard(&self) {
        let mut due = Completions::new();
        {
            let mut state = lock(&self.state);
            state.closed = true;
            state.items.clear();
            let gone = || Err(cancelled(format_args!("{} '{}' was deleted", self.spec.kind, self.name)));
            due.extend(state.producers.drain(..).map(|w| (w.done, w.cancel, gone())));
            due.extend(state.consumers.drain(..).map(|w| (w.done, w.cancel, gone())));
        }
        complete(due);
    }
}
