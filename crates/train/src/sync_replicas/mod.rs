//! Synchronous training of several replicas, as TensorFlow's `SyncReplicasOptimizer` does it.
//!
//! Each replica computes gradients and puts them into accumulators beside the variables. The chief's queue runner takes their mean
//! once there are enough, updates the variables, counts the global step, and gives out a token for each replica: the new global
//! step. A replica waits for a token before it goes on. Gradients that come after their step are dropped, and counted: so, with
//! more replicas than are waited for, the slowest ones hold nobody up.
//!
//! ```
//! use std::sync::Arc;
//! use thalweg_client::{Scope, Session};
//! use thalweg_train::optimizers::GradientDescent;
//! use thalweg_train::sync_replicas::SyncReplicas;
//! use thalweg_train::{Coordinator, get_or_create_global_step};
//!
//! // The chief's program. Other workers build the same graph on their own devices, and run `local_step_init` instead of what is
//! // for the chief.
//! let g = Scope::new();
//! let w = g.variable("w", &g.constant(1f32));
//! let step = get_or_create_global_step(&g);
//! let sync = SyncReplicas::new(GradientDescent::new(0.1), 1).minimize(&g, &g.square(&w.value), &step)?;
//! let tokens = sync.init_tokens(&g, Some(0))?;
//! let session = Arc::new(Session::new(&g)?);
//! session.run(&g.init(), &[])?;
//! session.run(&sync.chief_init, &[])?;
//! session.run(&tokens, &[])?;
//! let all = Coordinator::new();
//! sync.chief_queue_runner.start(&session, &all)?;
//! for _ in 0..10 {
//!     session.run(&sync.train, &[])?;
//! }
//! assert_eq!(session.run(&step.value, &[])?.to_scalar::<i64>()?, 10);
//! all.request_stop();
//! all.join()?;
//! # Ok::<(), thalweg_client::Error>(())
//! ```
//!
//! A fast replica may take the token of a slow one and compute twice for a step; what counts is that a step has the gradients of as
//! many batches as it waits for. For the result of one large batch, replicas take their batches from one source.

mod accumulator;
mod hook;
mod replica;

pub use hook::SyncReplicasHook;
pub use replica::Replica;

use crate::QueueRunner;
use crate::optimizers::{GradientOf, Minimize, Optimizer};
use accumulator::Accumulator;
use thalweg_client::{
    Code, DataType, Error, Gradient, Operation, Output, PartialShape, Result, Scope, Variable,
};

/// An optimizer whose updates are the means of the gradients of several replicas.
#[derive(Clone, Debug)]
pub struct SyncReplicas<O> {
    optimizer: O,
    replicas_to_aggregate: usize,
    total_num_replicas: usize,
}

impl<O: Optimizer> SyncReplicas<O> {
    /// Each update waits for so many gradients.
    pub fn new(optimizer: O, replicas_to_aggregate: usize) -> Self {
        SyncReplicas { optimizer, replicas_to_aggregate, total_num_replicas: replicas_to_aggregate }
    }

    /// How many replicas there are: more than are waited for, and the others are backups; fewer, and replicas compute several gradients
    /// for each update.
    pub fn total_num_replicas(mut self, total: usize) -> Self {
        self.total_num_replicas = total;
        self
    }

    /// As [`SyncReplicas::apply_gradients`], of the gradients of `loss` for every trainable variable.
    #[track_caller]
    pub fn minimize(&self, g: &Scope, loss: &Output, global_step: &Variable) -> Result<SyncTraining> {
        let gradients = self.optimizer.compute_gradients(g, loss)?;
        self.apply_gradients(g, &gradients, global_step)
    }

    /// Accumulators, the chief's step, and the training step of the replica that has these gradients. The scope's device is the
    /// replica's; variables are where they are.
    #[track_caller]
    pub fn apply_gradients(
        &self,
        g: &Scope,
        gradients: &[GradientOf],
        global_step: &Variable,
    ) -> Result<SyncTraining> {
        let required = small(self.replicas_to_aggregate, "replicas_to_aggregate")?;
        let tokens = small(self.replicas_to_aggregate.max(self.total_num_replicas), "total_num_replicas")?;
        let scope = g.name_scope("sync_replicas");
        let accumulators: Vec<Option<Accumulator>> =
            gradients.iter().map(|x| Accumulator::new(&scope, x)).collect();
        let on_step = g.top_level().device(&global_step.handle.op().device());
        let queue = on_step
            .op("FIFOQueueV2")
            .name(TOKENS)
            .attr("component_types", thalweg_client::Attr::types(&[global_step.dtype()]))
            .attr("shapes", thalweg_client::Attr::List(vec![PartialShape::scalar().into()]))
            .attr("shared_name", TOKENS)
            .output();
        let shared = Shared { accumulators, queue, global_step: global_step.clone() };
        let replica = shared.replica(g, &scope, gradients)?;

        let mut means = Vec::with_capacity(gradients.len());
        for (accumulator, x) in shared.accumulators.iter().zip(gradients) {
            let gradient = accumulator.as_ref().map_or(Gradient::None, |a| a.take(&scope, required));
            means.push(GradientOf { gradient, variable: x.variable.clone() });
        }
        let update = self.optimizer.apply_gradients(&on_step, &means, Some(global_step))?;
        let sync = shared.give_tokens(&on_step.control_dependencies(&[&update]), tokens);
        let chief_init = shared.chief_init(&scope, &replica);
        let chief_queue_runner = QueueRunner::new(g, &shared.queue, vec![sync.clone()]);
        g.check()?;
        let missing = self.replicas_to_aggregate.saturating_sub(self.total_num_replicas);
        Ok(SyncTraining {
            train: replica.train,
            local_step: replica.local_step,
            local_step_init: replica.local_step_init,
            chief_init,
            chief_queue_runner,
            sync,
            shared,
            required,
            missing,
        })
    }
}

const TOKENS: &str = "sync_token_q";

/// A number of replicas, from 1 on.
fn small(n: usize, what: &str) -> Result<i32> {
    i32::try_from(n).ok().filter(|n| *n > 0).ok_or_else(|| {
        Error::new(Code::InvalidArgument, format!("{what} must be from 1 to {}, got {n}", i32::MAX))
    })
}

/// What a replica and the chief run.
pub struct SyncTraining {
    /// One step of this replica: gradients, and the wait for the token of the next step.
    pub train: Operation,
    /// The global step that this replica's variables are of. Not saved: it belongs to the replica.
    pub local_step: Variable,
    /// Run once by a replica that is not the chief, after the chief has initialised or restored the variables.
    pub local_step_init: Operation,
    /// Run once by the chief instead, before any replica trains.
    pub chief_init: Operation,
    /// Runs `sync` over and over, on the chief.
    pub chief_queue_runner: QueueRunner,
    /// One step of the chief: waits for enough gradients, updates the variables, gives out tokens.
    pub sync: Operation,
    shared: Shared,
    required: i32,
    /// Gradients of the first step that no replica would compute without a token.
    missing: usize,
}

impl SyncTraining {
    /// Run once by the chief: tokens to begin with. TensorFlow gives as many as gradients are aggregated (`None`): replicas may then
    /// compute a second time for the first step. None at all (`Some(0)`) is enough unless there are fewer replicas than gradients.
    #[track_caller]
    pub fn init_tokens(&self, g: &Scope, tokens: Option<usize>) -> Result<Operation> {
        let wanted = tokens.unwrap_or(self.required as usize);
        if wanted < self.missing {
            return Err(Error::new(
                Code::InvalidArgument,
                format!(
                    "Too few tokens to finish the first step: {wanted} (given) vs {} (needed)",
                    self.missing
                ),
            ));
        }
        let made = match wanted {
            0 => g.op("NoOp").name("no_init_tokens").build(),
            n => {
                let on_step = g.top_level().device(&self.shared.global_step.handle.op().device());
                self.shared.give_tokens(&on_step, small(n, "the number of tokens")?)
            }
        };
        g.check()?;
        Ok(made)
    }

    /// Another replica in the same graph, with gradients of its own for the same variables, in the same order.
    #[track_caller]
    pub fn replica(&self, g: &Scope, gradients: &[GradientOf]) -> Result<Replica> {
        let made = self.shared.replica(g, &g.name_scope("sync_replicas"), gradients)?;
        g.check()?;
        Ok(made)
    }

    /// How many gradients came too late and were dropped, for the variable that lost the most. It is counted where the variables
    /// are, by all replicas together. Tasks of TensorFlow's own cannot tell.
    #[track_caller]
    pub fn stale_gradients(&self, g: &Scope) -> Output {
        let count = |a: &Accumulator| g.op("AccumulatorNumStale").input(&a.handle).output();
        let counts: Vec<Output> = self.shared.accumulators.iter().flatten().map(count).collect();
        let all = g.op("Pack").inputs(&counts.iter().collect::<Vec<_>>()).output();
        g.op("Max").name("stale_gradients").input(&all).input(&g.constant(0i32)).output()
    }
}

/// What all replicas use.
struct Shared {
    /// One for each variable that has a gradient.
    accumulators: Vec<Option<Accumulator>>,
    queue: Output,
    global_step: Variable,
}

impl Shared {
    /// Puts so many tokens into the queue, each the global step as it is when the scope's dependencies have run.
    fn give_tokens(&self, g: &Scope, tokens: i32) -> Operation {
        let step = self.global_step.read(g);
        let tokens = g.op("Fill").input(&g.constant(vec![tokens])).input(&step).output();
        let name = format!("{TOKENS}_EnqueueMany");
        g.op("QueueEnqueueManyV2").name(&name).input(&self.queue).inputs(&[&tokens]).build()
    }

    /// Sets the steps of the chief's replica and of the accumulators to the global step.
    fn chief_init(&self, scope: &Scope, replica: &Replica) -> Operation {
        let step = scope.cast(&self.global_step.read(scope), DataType::Int64);
        let set = |a: &Accumulator| {
            let set = scope.op("AccumulatorSetGlobalStep").name("SetGlobalStep");
            set.input(&a.handle).input(&step).build()
        };
        let mut all: Vec<Operation> = self.accumulators.iter().flatten().map(set).collect();
        all.push(replica.local_step_init.clone());
        scope.group(&all.iter().collect::<Vec<_>>())
    }
}
