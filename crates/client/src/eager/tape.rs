//! `Tape`: what was computed from watched tensors.

use super::{EagerOp, EagerTensor, is_differentiable};
use smallvec::SmallVec;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use thalweg_core::node;
use thalweg_core::sync::lock;
use thalweg_graph::Graph;

/// A graph that was run as one step, with values for the feeds.
pub struct GraphCall {
    /// Unique.
    pub number: u64,
    /// The nodes.
    pub graph: Graph,
    /// What values were given for.
    pub feeds: Vec<node::Output>,
    /// What was computed.
    pub fetches: Vec<node::Output>,
}

/// What was run.
#[derive(Clone)]
pub enum Recorded {
    /// An op.
    Op(Arc<EagerOp>),
    /// A graph.
    Call(Arc<GraphCall>),
}

impl Recorded {
    /// A number that no other op and no other graph has.
    pub(super) fn number(&self) -> u64 {
        match self {
            Recorded::Op(op) => op.number << 1,
            Recorded::Call(call) => (call.number << 1) | 1,
        }
    }
}

/// One step of a tape.
pub(super) struct Record {
    pub what: Recorded,
    pub inputs: SmallVec<[EagerTensor; 2]>,
    pub outputs: SmallVec<[EagerTensor; 1]>,
}

/// Records what is computed from the tensors that it watches.
#[derive(Default)]
pub struct Tape(Mutex<State>);

#[derive(Default)]
pub(super) struct State {
    watched: HashSet<u64>,
    pub records: Vec<Arc<Record>>,
}

impl Tape {
    /// Watches a tensor, or a variable by the id of its handle.
    pub fn watch(&self, id: u64) {
        lock(&self.0).watched.insert(id);
    }

    /// Whether any of these is watched.
    pub fn watches(&self, ids: impl IntoIterator<Item = u64>) -> bool {
        let state = lock(&self.0);
        ids.into_iter().any(|id| state.watched.contains(&id))
    }

    /// Records what was run, if an input is watched; its outputs are watched from now on.
    pub fn record(&self, what: &Recorded, inputs: &[EagerTensor], outputs: &[EagerTensor]) {
        let mut state = lock(&self.0);
        if !inputs.iter().any(|input| input.id != 0 && state.watched.contains(&input.id)) {
            return;
        }
        let differentiable = outputs.iter().filter(|o| is_differentiable(o.tensor.dtype())).map(|o| o.id);
        let before = state.watched.len();
        state.watched.extend(differentiable);
        if state.watched.len() > before {
            let (inputs, outputs) = (inputs.into(), outputs.into());
            state.records.push(Arc::new(Record { what: what.clone(), inputs, outputs }));
        }
    }

    /// Forgets what was recorded, and what is watched.
    pub fn reset(&self) {
        let old = std::mem::take(&mut *lock(&self.0));
        drop(old);
    }

    pub(super) fn records(&self) -> Vec<Arc<Record>> {
        lock(&self.0).records.clone()
    }
}
