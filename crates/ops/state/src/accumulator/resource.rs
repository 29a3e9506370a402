//! `Accumulator`: a sum of gradients, and the pending requests to take it.
//!
//! No thread blocks: a take request is queued, and completed after the lock is released, once there are enough gradients.

use super::sum::{Arithmetic, Gradient, Sum};
use crate::named::OwnedResource;
use crate::prelude::*;
use std::any::Any;
use std::collections::{LinkedList, VecDeque};
use std::sync::Mutex;
use thalweg_core::attr::REPLICA;
use thalweg_core::cancel::Cancellation;
use thalweg_core::resource::Resource;
use thalweg_core::sync::lock;
use thalweg_math::parallel::Parallel;

/// Where a gradient comes from.
#[derive(Clone, Copy)]
pub struct Origin {
    /// The step that it was computed at.
    pub local_step: i64,
    /// The number of its replica, if the sum accepts only one gradient of each.
    pub replica: Option<i64>,
}

/// The replica whose gradients a node applies, from its attr `_replica`. A restarted replica may compute a second gradient for a step;
/// TensorFlow's accumulators ignore the attr and take both.
pub fn replica_of(node: &KernelNode) -> Option<i64> {
    node.attrs.int(REPLICA).ok()
}

/// The configuration of an accumulator; nodes of the same shared name must agree on it.
#[derive(Clone, PartialEq, Debug)]
pub struct Spec {
    pub dtype: DataType,
    pub shape: PartialShape,
    pub mean: bool,
    /// Gradients are sparse (rows).
    pub sparse: bool,
}

pub struct Accumulator {
    pub name: String,
    pub spec: Spec,
    arithmetic: Arithmetic,
    state: Mutex<State>,
}

struct State {
    global_step: i64,
    sum: Sum,
    count: u32,
    /// The numbered replicas whose gradients are in the sum.
    replicas: Vec<i64>,
    /// Gradients dropped: computed before the global step, or a second one of their replica.
    stale: u64,
    pending: VecDeque<PendingTake>,
    next_id: u64,
}

/// Called with the outputs of a take.
pub type Answer = Box<dyn FnOnce(Result<Vec<Tensor>>) + Send>;

struct PendingTake {
    id: u64,
    required: u32,
    done: Answer,
    /// To unregister the cancellation callback.
    cancel: Option<(Arc<Cancellation>, u64)>,
}

/// Requests to complete once the lock is released.
type Completions = LinkedList<(PendingTake, Result<Vec<Tensor>>)>;

impl Accumulator {
    pub fn new(name: &str, spec: Spec, arithmetic: Arithmetic) -> Accumulator {
        let sum = if spec.sparse { Sum::Rows(None) } else { Sum::Dense(None) };
        let pending = VecDeque::new();
        let replicas = Vec::new();
        let state = State { global_step: 0, sum, count: 0, replicas, stale: 0, pending, next_id: 0 };
        Accumulator { name: name.to_string(), spec, arithmetic, state: Mutex::new(state) }
    }

    /// Adds a gradient; one from before the global step is dropped and counted, and so is a second one of a replica.
    pub fn apply(&self, from: Origin, gradient: Gradient, par: &dyn Parallel) -> Result<()> {
        let mut due = Completions::new();
        {
            let mut state = lock(&self.state);
            let again = from.replica.is_some_and(|r| state.replicas.contains(&r));
            if from.local_step < state.global_step || again {
                state.stale += 1;
                return Ok(());
            }
            reserve::room(&mut state.replicas, 1)?;
            state.sum.add(gradient, &self.spec.shape, &self.arithmetic, par)?;
            state.count = state.count.saturating_add(1);
            state.replicas.extend(from.replica);
            self.serve(&mut state, &mut due);
        }
        complete(due);
        Ok(())
    }

    /// Takes the sum, or the mean, once there are `required` gradients; increments the global step.
    pub fn take(self: &Arc<Self>, required: u32, cancel: &Arc<Cancellation>, done: Answer) {
        let mut due = Completions::new();
        let (id, waits) = {
            let mut state = lock(&self.state);
            let id = state.next_id;
            state.next_id += 1;
            let taker = PendingTake { id, required, done, cancel: None };
            match reserve::room(&mut state.pending, 1) {
                Ok(()) => state.pending.push_back(taker),
                Err(e) => due.push_back((taker, Err(e))),
            }
            self.serve(&mut state, &mut due);
            (id, state.pending.iter().any(|t| t.id == id))
        };
        complete(due);
        if !waits {
            return;
        }
        let this = self.clone();
        let token = cancel.on_cancel(move |_| this.leave(id));
        match lock(&self.state).pending.iter_mut().find(|t| t.id == id) {
            Some(taker) => taker.cancel = Some((cancel.clone(), token)),
            None => cancel.forget(token), // Completed meanwhile.
        }
    }

    pub fn set_global_step(&self, step: i64) {
        lock(&self.state).global_step = step;
    }

    pub fn num_accumulated(&self) -> u32 {
        lock(&self.state).count
    }

    pub fn num_stale(&self) -> u64 {
        lock(&self.state).stale
    }

    /// Removes a pending request whose step was cancelled.
    fn leave(&self, id: u64) {
        let mut due = Completions::new();
        {
            let mut state = lock(&self.state);
            if let Some(at) = state.pending.iter().position(|t| t.id == id) {
                let gone = Err(cancelled("TakeGrad operation was cancelled"));
                due.extend(state.pending.remove(at).map(|t| (PendingTake { cancel: None, ..t }, gone)));
            }
            self.serve(&mut state, &mut due);
        }
        complete(due);
    }

    /// Completes pending requests, oldest first, while there are enough gradients.
    fn serve(&self, state: &mut State, due: &mut Completions) {
        while state.pending.front().is_some_and(|t| t.required <= state.count) {
            let Some(taker) = state.pending.pop_front() else { return };
            state.global_step = state.global_step.saturating_add(1);
            let taken = state.sum.take(state.count, self.spec.mean, &self.spec.shape, &self.arithmetic);
            state.count = 0;
            state.replicas.clear();
            due.push_back((taker, taken));
        }
    }
}

fn complete(due: Completions) {
    for (taker, result) in due {
        if let Some((cancel, token)) = taker.cancel {
            cancel.forget(token);
        }
        (taker.done)(result);
    }
}

impl Resource for Accumulator {
    fn kind(&self) -> &'static str {
        if self.spec.sparse { "SparseConditionalAccumulator" } else { "ConditionalAccumulator" }
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    /// Cancels the pending requests.
    fn discard(&self) {
        let gone = || Err(cancelled(format_args!("{} '{}' was deleted", self.kind(), self.name)));
        complete(lock(&self.state).pending.drain(..).map(|t| (t, gone())).collect());
    }
}

/// The kernel of an op whose output is a handle to an accumulator of this element type.
pub fn accumulator_kernel<T: Number>(node: &KernelNode, sparse: bool) -> Result<Box<dyn Kernel>> {
    let spec = Spec {
        dtype: T::DTYPE,
        shape: node.attrs.shape("shape")?.clone(),
        mean: node.attrs.str("reduction_type")? != "SUM",
        sparse,
    };
    let owner = OwnedResource::<Accumulator>::new(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let found = owner.get(c, |name| Ok(Accumulator::new(name, spec.clone(), Arithmetic::of::<T>())))?;
        if found.spec != spec {
            return Err(invalid!(
                "shared accumulator '{}' was made with {:?}, but '{}' asks for {spec:?}",
                found.name,
                found.spec,
                c.node.name
            ));
        }
        owner.output_handle(c, found);
        Ok(())
    }))
}

/// Rejects values that are not of the accumulator's type.
pub fn check_type(a: &Accumulator, dtype: DataType) -> Result<()> {
    if dtype == a.spec.dtype {
        return Ok(());
    }
    Err(invalid!("{} '{}' holds {}, the op has {dtype}", a.kind(), a.name, a.spec.dtype))
}
