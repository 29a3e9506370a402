//! `Cancellation`: cancels a step, and calls registered callbacks.

use crate::error::Error;
use crate::sync::lock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

type Callback = Box<dyn FnOnce(&Error) + Send>;

#[derive(Default)]
pub struct Cancellation {
    flag: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    reason: Option<Error>,
    next: u64,
    waiting: BTreeMap<u64, Callback>,
}

impl Cancellation {
    /// Cheap enough for loops.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    pub fn reason(&self) -> Option<Error> {
        if !self.is_cancelled() {
            return None;
        }
        lock(&self.state).reason.clone()
    }

    /// Cancels with this error; the first reason stays. Callbacks run here, outside the lock.
    pub fn cancel(&self, reason: Error) {
        let waiting = {
            let mut state = lock(&self.state);
            if state.reason.is_some() {
                return;
            }
            state.reason = Some(reason.clone());
            self.flag.store(true, Ordering::Release);
            std::mem::take(&mut state.waiting)
        };
        for (_, callback) in waiting {
            callback(&reason);
        }
    }

    /// Registers a callback; called at once if already cancelled. The number is for `forget`.
    pub fn on_cancel(&self, callback: impl FnOnce(&Error) + Send + 'static) -> u64 {
        let mut state = lock(&self.state);
        if let Some(reason) = state.reason.clone() {
            drop(state);
            callback(&reason);
            return u64::MAX;
        }
        let id = state.next;
        state.next += 1;
        state.waiting.insert(id, Box::new(callback));
        id
    }

    /// Cancels this one when the other is cancelled, not the reverse. The number is for the other's `forget`, when this one's step is over.
    pub fn follow(self: &Arc<Self>, other: &Cancellation) -> u64 {
        let this = self.clone();
        other.on_cancel(move |reason| this.cancel(reason.clone()))
    }

    pub fn forget(&self, id: u64) {
        let forgotten = lock(&self.state).waiting.remove(&id);
        drop(forgotten);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn each_callback_runs_once_or_is_forgotten() {
        let c = Cancellation::default();
        let heard = Arc::new(AtomicUsize::new(0));
        let hear = |n: usize| {
            let heard = heard.clone();
            move |_: &Error| {
                heard.fetch_add(n, Ordering::SeqCst);
            }
        };
        c.on_cancel(hear(1));
        let id = c.on_cancel(hear(10));
        c.forget(id);
        c.cancel(crate::error::cancelled("first"));
        c.cancel(crate::error::cancelled("second"));
        c.on_cancel(hear(100));
        assert_eq!(heard.load(Ordering::SeqCst), 101);
        assert_eq!(c.reason().unwrap().message(), "first");
    }

    #[test]
    fn a_follower_ends_with_the_one_it_follows_and_not_the_other_way_round() {
        let (caller, steps) = (Cancellation::default(), [Arc::new(Cancellation::default()), Arc::default()]);
        let ids = steps.each_ref().map(|step| step.follow(&caller));
        steps[0].cancel(crate::error::internal("a step of its own"));
        assert!(!caller.is_cancelled() && !steps[1].is_cancelled());
        caller.forget(ids[0]);
        assert_eq!(Arc::strong_count(&steps[0]), 1, "nothing is kept of a step that is over");
        caller.cancel(crate::error::cancelled("all of them"));
        assert_eq!(steps[1].reason().unwrap().message(), "all of them");
        assert_eq!(steps[0].reason().unwrap().message(), "a step of its own");
    }
}
