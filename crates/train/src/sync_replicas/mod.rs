//! Synchronous training of several replicas, as TensorFlow's `SyncReplicasOptimizer` does it.
//!
//! Each replica adds its gradients to accumulators on the devices of the variables. The chief's queue runner takes their mean
//! once there are enough, updates the variables, increments the global step, and enqueues a token for each replica: the new global
//! step. A replica waits for a token before its next step. Stale gradients are dropped, and counted: with
//! more replicas than gradients per step, stragglers do not delay the others.
//!
//! ```
//! use std::sync::Arc;
//! use thalweg_client::{Scope, Session};
//! use thalweg_train::optimizers::GradientDescent;
//! use thalweg_train::sync_replicas::SyncReplicas;
//! use thalweg_train::{Coordinator, get_or_create_global_step};
//!
//! // The chief's program. Other workers build the same graph on their own devices, and run `local_step_init` instead of the
//! // chief's operations.
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
//! A fast replica may take the token of a slow one and compute two gradients for a step; a step aggregates as
//! many batches as it waits for. For the result of one large batch, replicas take their batches from one source. Replicas that have
//! numbers ([`SyncReplicas::number`]) have a token queue each, and add one gradient to each step.
//!
//! # When tasks are lost
//!
//! With [`SyncTraining::hook`], replicas that are numbered may be killed and started again at any time, and so may the chief and
//! parameter servers. Every update is then the mean of the gradients of as many different replicas as it waits for (of more, if more
//! were in time), each computed with all variables as the update before left them:
//! - gradients and tokens carry stamps, which only grow, also when the chief restores a checkpoint: those from before a restart are
//!   dropped (`stamp`). The chief starts with empty accumulators.
//! - an accumulator takes one gradient per replica and step, also when the replica was restarted in between. This needs
//!   Thalweg's parameter servers; TensorFlow's would take two.
//! - no variable is updated before the gradients of all have been taken, and none while the chief saves (`gate`).

mod accumulator;
mod gate;
mod hook;
mod replica;
mod stamp;
mod tokens;

pub use hook::SyncReplicasHook;
pub use replica::Replica;

use crate::QueueRunner;
use crate::optimizers::{GradientOf, Minimize, Optimizer};
use accumulator::Accumulator;
use gate::Gate;
use stamp::Stamps;
use thalweg_client::{Code, Error, Gradient, IndexedSlices, Operation, Output, Result, Scope, Variable};
use tokens::Tokens;

/// An optimizer whose updates are the means of the gradients of several replicas.
#[derive(Clone, Debug)]
pub struct SyncReplicas<O> {
    optimizer: O,
    replicas_to_aggregate: usize,
    total_num_replicas: usize,
    number: Option<usize>,
}

impl<O: Optimizer> SyncReplicas<O> {
    /// Each update waits for so many gradients.
    pub fn new(optimizer: O, replicas_to_aggregate: usize) -> Self {
        let total_num_replicas = replicas_to_aggregate;
        SyncReplicas { optimizer, replicas_to_aggregate, total_num_replicas, number: None }
    }

    /// How many replicas there are: if more than are aggregated, the others are backups; if fewer, replicas compute several gradients
    /// for each update.
    pub fn total_num_replicas(mut self, total: usize) -> Self {
        self.total_num_replicas = total;
        self
    }

    /// Which of the replicas this is, from 0 on; the chief is 0. All replicas have numbers, or none: TensorFlow's have none.
    pub fn number(mut self, number: usize) -> Self {
        self.number = Some(number);
        self
    }

    /// As [`SyncReplicas::apply_gradients`], of the gradients of `loss` for every trainable variable.
    #[track_caller]
    pub fn minimize(&self, g: &Scope, loss: &Output, global_step: &Variable) -> Result<SyncTraining> {
        let gradients = self.optimizer.compute_gradients(g, loss)?;
        self.apply_gradients(g, &gradients, global_step)
    }

    /// Accumulators, the chief's step, and the training step of the replica that has these gradients. The scope's device is the
    /// replica's; variables keep theirs.
    #[track_caller]
    pub fn apply_gradients(
        &self,
        g: &Scope,
        gradients: &[GradientOf],
        global_step: &Variable,
    ) -> Result<SyncTraining> {
        let required = small(self.replicas_to_aggregate, "replicas_to_aggregate")?;
        let tokens = small(self.replicas_to_aggregate.max(self.total_num_replicas), "total_num_replicas")?;
        self.check_number()?;
        let scope = g.name_scope("sync_replicas");
        let on_step = g.top_level().device(&global_step.handle.op().device());
        let shared = Shared {
            accumulators: gradients.iter().map(|x| Accumulator::new(&scope, x)).collect(),
            tokens: match self.number {
                None => Tokens::shared(&on_step),
                Some(own) => Tokens::numbered(&on_step, self.total_num_replicas, own),
            },
            stamps: Stamps::new(&on_step, global_step),
            gate: self.number.map(|_| Gate::new(&on_step)),
            number: self.number,
            on_step,
        };
        let replica = shared.replica(g, &scope, gradients)?;
        let means = shared.means(&scope, required, gradients);
        let update = self.optimizer.apply_gradients(&shared.on_step, &means, Some(global_step))?;
        let sync = shared.after_update(&update, tokens);
        let chief_init = shared.chief_init(&scope, &replica);
        let chief_queue_runner = QueueRunner::new(g, shared.tokens.queue(), vec![sync.clone()]);
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

    /// Numbered replicas add one gradient to each step.
    fn check_number(&self) -> Result<()> {
        let (wanted, total) = (self.replicas_to_aggregate, self.total_num_replicas);
        let wrong = match self.number {
            Some(n) if n >= total => format!("replica {n} of {total}: numbers go from 0 to {}", total - 1),
            Some(_) if wanted > total => {
                format!(
                    "{wanted} gradients of {total} replicas: each gives one to each step, as they have numbers"
                )
            }
            _ => return Ok(()),
        };
        Err(Error::new(Code::InvalidArgument, wrong))
    }
}

/// A number of replicas, from 1 on.
fn small(n: usize, what: &str) -> Result<i32> {
    i32::try_from(n).ok().filter(|n| *n > 0).ok_or_else(|| {
        Error::new(Code::InvalidArgument, format_args!("{what} must be from 1 to {}, got {n}", i32::MAX))
    })
}

/// What a replica and the chief run.
pub struct SyncTraining {
    /// One step of this replica: gradients, and the wait for the token of the next step.
    pub train: Operation,
    /// The stamp of the step that this replica's variables are of: a number that grows with the global step, and with each start of the
    /// chief. Not saved: it belongs to the replica.
    pub local_step: Variable,
    /// Run once by a replica that is not the chief, after the chief has run `chief_init`.
    pub local_step_init: Operation,
    /// Run once by the chief instead, after it has initialised or restored the variables.
    pub chief_init: Operation,
    /// Runs `sync` repeatedly, on the chief.
    pub chief_queue_runner: QueueRunner,
    /// One step of the chief: waits for enough gradients, updates the variables, enqueues tokens.
    pub sync: Operation,
    shared: Shared,
    required: i32,
    /// Gradients of the first step that no replica would compute without a token.
    missing: usize,
}

impl SyncTraining {
    /// Run once by the chief: enqueues the first tokens. TensorFlow's count is that of the gradients aggregated (`None`): replicas may then
    /// compute a second time for the first step. `Some(0)` is enough unless there are fewer replicas than gradients.
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
            n => self.shared.give_tokens(&self.shared.on_step, small(n, "the number of tokens")?),
        };
        g.check()?;
        Ok(made)
    }

    /// Another replica in the same graph, with its own gradients for the same variables, in the same order. Not for numbered replicas,
    /// which have a graph each.
    #[track_caller]
    pub fn replica(&self, g: &Scope, gradients: &[GradientOf]) -> Result<Replica> {
        if self.shared.number.is_some() {
            let why =
                "a replica that has a number is alone in its graph: make the others in graphs of their own";
            return Err(Error::new(Code::InvalidArgument, why));
        }
        let made = self.shared.replica(g, &g.name_scope("sync_replicas"), gradients)?;
        g.check()?;
        Ok(made)
    }

    /// The number of stale gradients that were dropped, for the variable that lost the most. Counted on the variables'
    /// devices, for all replicas together. TensorFlow's servers do not support it.
    #[track_caller]
    pub fn stale_gradients(&self, g: &Scope) -> Output {
        let count = |a: &Accumulator| g.op("AccumulatorNumStale").input(&a.handle).output();
        let counts: Vec<Output> = self.shared.accumulators.iter().flatten().map(count).collect();
        let all = g.op("Pack").inputs(&counts).output();
        g.op("Max").name("stale_gradients").input(&all).input(g.constant(0i32)).output()
    }
}

/// What all replicas use.
struct Shared {
    /// One for each variable that has a gradient.
    accumulators: Vec<Option<Accumulator>>,
    tokens: Tokens,
    stamps: Stamps,
    gate: Option<Gate>,
    /// Which replica this graph is of, if they have numbers.
    number: Option<usize>,
    /// The scope on the device of the global step.
    on_step: Scope,
}

impl Shared {
    /// Enqueues tokens with the stamp that is read after the scope's control dependencies.
    fn give_tokens(&self, g: &Scope, tokens: i32) -> Operation {
        self.tokens.give(g, &self.stamps.now(g), tokens)
    }

    /// The means of so many gradients; no update begins before all have been taken. A gradient that an accumulator still accepts
    /// was then computed before any of the updates.
    fn means(&self, scope: &Scope, required: i32, gradients: &[GradientOf]) -> Vec<GradientOf> {
        let take = |a: &Option<Accumulator>| a.as_ref().map_or(Gradient::None, |a| a.take(scope, required));
        let taken: Vec<Gradient> = self.accumulators.iter().map(take).collect();
        let ops: Vec<Operation> = taken
            .iter()
            .filter_map(|x| match x {
                Gradient::None => None,
                Gradient::Dense(d) => Some(d.op()),
                Gradient::Slices(s) => Some(s.values.op()),
            })
            .collect();
        let all = self.on_step.control_dependencies(&ops);
        let all = match &self.gate {
            Some(gate) => gate.acquire(&all),
            None => all.op("NoOp").name("all_taken").build(),
        };
        let after = scope.control_dependencies(&[&all]);
        let held = |x: Gradient, variable: &Variable| {
            let after = after.device(&variable.handle.op().device());
            let hold = |o: &Output| after.op("Identity").input(o).output();
            match x {
                Gradient::None => Gradient::None,
                Gradient::Dense(d) => Gradient::Dense(hold(&d)),
                Gradient::Slices(s) => Gradient::Slices(IndexedSlices { values: hold(&s.values), ..s }),
            }
        };
        let pair = |(x, of): (Gradient, &GradientOf)| GradientOf {
            gradient: held(x, &of.variable),
            variable: of.variable.clone(),
        };
        taken.into_iter().zip(gradients).map(pair).collect()
    }

    /// The end of the chief's step: enqueues tokens, releases the gate.
    fn after_update(&self, update: &Operation, tokens: i32) -> Operation {
        let after = self.on_step.control_dependencies(&[update]);
        let given = self.give_tokens(&after, tokens);
        match &self.gate {
            None => given,
            Some(gate) => self.on_step.group(&[&given, &gate.release(&after)]),
        }
    }

    /// Sets a new stamp offset, and the chief's replica and the accumulators to its first stamp.
    fn chief_init(&self, scope: &Scope, replica: &Replica) -> Operation {
        let after = scope.control_dependencies(&[&self.stamps.begin(&self.on_step)]);
        let stamp = self.stamps.now(&after);
        let accumulators = self.accumulators.iter().flatten();
        let mut all: Vec<Operation> = accumulators.map(|a| a.set_step(scope, &stamp)).collect();
        all.push(replica.local_step.assign(&stamp));
        scope.group(&all)
    }
}
