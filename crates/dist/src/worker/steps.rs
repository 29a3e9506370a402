//! The steps that this task takes part in, each with the place where its tensors meet their receivers.

use super::rendezvous::StepRendezvous;
use super::transfer_log::TransferLog;
use crate::cluster::Membership;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use thalweg_core::error::{Error, aborted};
use thalweg_core::rendezvous::Rendezvous;
use thalweg_core::resource::lock;

pub struct Steps {
    /// What this task is, unless the step's session says otherwise.
    home: Arc<Membership>,
    pub transfers: Arc<TransferLog>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: HashMap<u64, Arc<StepRendezvous>>,
    /// The last steps that have ended: who comes late to them is not to wait.
    ended: HashSet<u64>,
    order: VecDeque<u64>,
}

/// Ended steps remembered.
const MEMORY: usize = 4096;

impl Steps {
    pub fn new(home: Arc<Membership>) -> Steps {
        Steps { home, transfers: Arc::default(), state: Mutex::default() }
    }

    /// A step that runs here from now on, in the session's cluster.
    pub fn begin(&self, id: u64, us: &Arc<Membership>) -> Arc<StepRendezvous> {
        let mut state = lock(&self.state);
        // Some masters number their steps from the start each time they are started.
        state.ended.remove(&id);
        let step = self.find(&mut state, id);
        step.note_run(us);
        step
    }

    /// A step that somebody wants a tensor of; it may begin later.
    pub fn wanted(&self, id: u64) -> Result<Arc<StepRendezvous>, Error> {
        let mut state = lock(&self.state);
        if state.ended.contains(&id) {
            return Err(aborted(format!("step {id} has ended on {}", self.home.task)));
        }
        Ok(self.find(&mut state, id))
    }

    fn find(&self, state: &mut State, id: u64) -> Arc<StepRendezvous> {
        let make = || {
            Arc::new(StepRendezvous::new(id, self.home.clone(), self.transfers.clone()))
        };
        state.open.entry(id).or_insert_with(make).clone()
    }

    /// The step is over: whoever still waits in it is told so.
    pub fn end(&self, id: u64) {
        let step = {
            let mut state = lock(&self.state);
            if state.ended.insert(id) {
                state.order.push_back(id);
            }
            if state.order.len() > MEMORY
                && let Some(oldest) = state.order.pop_front()
            {
                state.ended.remove(&oldest);
            }
            state.open.remove(&id)
        };
        if let Some(step) = step {
            step.abort(aborted(format!("step {id} has ended")).derived());
        }
    }

    /// Forgets steps that never began here and that nobody waits for.
    pub fn collect(&self) {
        // One that was just asked for is held by whoever asked.
        lock(&self.state).open.retain(|_, step| step.has_run() || Arc::strong_count(step) > 1);
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        lock(&self.state).open.len()
    }
}
