//! Executors, which run plans.
//!
//! `run` dispatches on the plan. `straight` is a list; scalar operands skip the kernels (`numbers`), loop programs are kernels (`loops`).
//! The rest is the general executor: `state` holds frames and iterations, `propagate` moves values along edges, `forward` runs nodes
//! without kernels, `step` runs the others and decides which thread works on the state (`baton`; after a wait, `inline_resume`; for
//! how long, `yielding`). `part_results` collects the results of a step's parts.

mod baton;
mod cost;
pub mod dead_fetch;
mod forward;
mod inline_resume;
mod loops;
mod numbers;
mod part_results;
mod propagate;
mod run;
mod state;
mod step;
mod straight;
mod traced;
mod yielding;

pub use inline_resume::allow_inline_resume;
pub use loops::LOOP_KERNELS;
pub use part_results::PartResults;
pub use run::{run, spawn, start};

use std::sync::Arc;
use thalweg_core::error::Result;
use thalweg_core::step::StepContext;
use thalweg_core::tensor::Tensor;

/// Receives the fetches of a run, or its error.
pub type OnFinish = Box<dyn FnOnce(Result<Vec<Tensor>>) + Send>;

/// The feeds of one run of a plan, and its step.
pub struct RunInput {
    pub feeds: Vec<Tensor>,
    pub step: Arc<StepContext>,
}
