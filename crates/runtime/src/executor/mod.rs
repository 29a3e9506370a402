//! Executors: what runs a plan.
//!
//! `straight` walks a list, past the kernels where single numbers are all there is (`numbers`). The others are the general executor: `state` holds frames and iterations, `propagate` moves values
//! along edges, `step` runs kernels and decides who works on the state (see `baton`; after a wait, `answering`; for how long, `hurry`).

mod answering;
mod baton;
mod call;
pub mod dead_fetch;
mod forward;
mod hurry;
mod loops;
mod numbers;
mod propagate;
mod state;
mod step;
mod straight;
mod weight;

pub use answering::pass_on_answer;
pub use call::Run;
pub use loops::LOOP_KERNELS;
pub use step::GeneralRun;

use std::sync::Arc;
use thalweg_core::step::StepContext;
use thalweg_core::tensor::Tensor;

/// What one run of a plan is given.
pub struct RunInput {
    pub feeds: Vec<Tensor>,
    pub step: Arc<StepContext>,
}
