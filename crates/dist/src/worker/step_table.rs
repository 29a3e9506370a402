//! The steps that this task takes part in, each with its rendezvous.

use super::rendezvous::StepRendezvous;
use super::request_ids::RequestIds;
use super::transfer_log::TransferLog;
use crate::cluster::Membership;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use thalweg_core::error::{Error, aborted, resource_exhausted};
use thalweg_core::sync::lock;

pub struct StepTable {
    /// The membership of steps whose session has none of its own.
    home: Arc<Membership>,
    pub transfers: Arc<TransferLog>,
    request_ids: Arc<RequestIds>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: HashMap<u64, Arc<StepRendezvous>>,
    /// Recently ended steps: late requests for them fail instead of waiting.
    ended: HashSet<u64>,
    order: VecDeque<u64>,
}

/// Limit of open steps; each may hold tensors.
const MAX_OPEN: usize = 100_000;
/// Ended steps remembered.
const MEMORY: usize = 4096;

impl StepTable {
    pub fn new(home: Arc<Membership>) -> StepTable {
        StepTable { home, transfers: Arc::default(), request_ids: Arc::default(), state: Mutex::default() }
    }

    /// Begins a step of our own master, with its membership.
    pub fn begin(&self, id: u64, us: &Arc<Membership>) -> Arc<StepRendezvous> {
        self.begin_in(&mut lock(&self.state), id, us, 0)
    }

    /// Begins a step of another master, which may leak any number of them.
    pub fn begin_remote(
        &self,
        id: u64,
        us: &Arc<Membership>,
        session: u64,
    ) -> Result<Arc<StepRendezvous>, Error> {
        let mut state = lock(&self.state);
        self.check_room(&state, id)?;
        Ok(self.begin_in(&mut state, id, us, session))
    }

    fn begin_in(
        &self,
        state: &mut State,
        id: u64,
        us: &Arc<Membership>,
        session: u64,
    ) -> Arc<StepRendezvous> {
        // Some masters reuse step ids after a restart.
        state.ended.remove(&id);
        let step = self.find(state, id);
        step.note_run(us, session);
        step
    }

    fn check_room(&self, state: &State, id: u64) -> Result<(), Error> {
        if state.open.len() >= MAX_OPEN && !state.open.contains_key(&id) {
            return Err(resource_exhausted(format_args!(
                "{MAX_OPEN} steps are under way on {}, or were left behind without CleanupGraph; no more are begun",
                self.home.task
            )));
        }
        Ok(())
    }

    /// The step of a RecvTensor, which may be early.
    pub fn wanted(&self, id: u64) -> Result<Arc<StepRendezvous>, Error> {
        let mut state = lock(&self.state);
        if state.ended.contains(&id) {
            return Err(aborted(format_args!("step {id} has ended on {}", self.home.task)));
        }
        self.check_room(&state, id)?;
        Ok(self.find(&mut state, id))
    }

    fn rendezvous(&self, id: u64) -> StepRendezvous {
        StepRendezvous::new(id, self.home.clone(), self.transfers.clone(), self.request_ids.clone())
    }

    fn find(&self, state: &mut State, id: u64) -> Arc<StepRendezvous> {
        let make = || Arc::new(self.rendezvous(id));
        state.open.entry(id).or_insert_with(make).clone()
    }

    /// Ends a step and aborts its rendezvous.
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
            step.end(aborted(format_args!("step {id} has ended")).derived());
        }
    }

    /// Whether this step is open under this id.
    pub fn has(&self, id: u64, step: &Arc<StepRendezvous>) -> bool {
        lock(&self.state).open.get(&id).is_some_and(|open| Arc::ptr_eq(open, step))
    }

    /// The open steps of a session.
    pub fn of_session(&self, session: u64) -> Vec<u64> {
        let state = lock(&self.state);
        state.open.iter().filter(|(_, step)| step.session() == session).map(|(id, _)| *id).collect()
    }

    /// Removes steps that never began and have no receivers.
    pub fn collect(&self) {
        // A receiver holds a reference.
        lock(&self.state).open.retain(|_, step| step.has_run() || Arc::strong_count(step) > 1);
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        lock(&self.state).open.len()
    }
}
