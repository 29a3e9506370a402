//! Running a plan, of whichever kind.

use super::RunInput;
use super::hurry::in_hurry;
use super::step::{GeneralRun, OnFinish};
use crate::plan::Plan;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use thalweg_core::error::Result;
use thalweg_core::kernel::caught;
use thalweg_core::tensor::Tensor;

pub struct Run;

impl Run {
    /// Runs a plan and waits for its results.
    pub fn wait(plan: &Plan, input: RunInput) -> Result<Vec<Tensor>> {
        match plan {
            Plan::Straight(p) => {
                catch_unwind(AssertUnwindSafe(|| p.run(input))).unwrap_or_else(|panic| Err(caught(&*panic)))
            }
            Plan::General(p) => GeneralRun::wait(p.clone(), input),
        }
    }

    /// Runs a plan on the pool; `finish` gets the results.
    pub fn start(plan: Arc<Plan>, input: RunInput, finish: OnFinish) {
        let pool = input.step.device.pool.clone();
        pool.spawn(Box::new(move || in_hurry(|| Run::start_here(&plan, input, finish))));
    }

    /// Runs a plan on the calling thread until it ends or has nothing to do but wait; `finish` gets the results, from any thread.
    pub fn start_here(plan: &Plan, input: RunInput, finish: OnFinish) {
        match plan {
            Plan::Straight(_) => finish(Run::wait(plan, input)),
            Plan::General(p) => GeneralRun::start(p.clone(), input, finish),
        }
    }
}
