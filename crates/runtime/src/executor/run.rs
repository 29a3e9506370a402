//! Running a plan, straight or general.

use super::step::GeneralRun;
use super::yielding::yielding;
use super::{OnFinish, RunInput};
use crate::plan::Plan;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use thalweg_core::error::Result;
use thalweg_core::kernel::caught;
use thalweg_core::tensor::Tensor;

/// Runs a plan and waits for its results.
pub fn run(plan: &Plan, input: RunInput) -> Result<Vec<Tensor>> {
    trace_constants(plan, &input);
    match plan {
        Plan::Straight(p) => {
            catch_unwind(AssertUnwindSafe(|| p.run(input))).unwrap_or_else(|panic| Err(caught(&*panic)))
        }
        Plan::General(p) => GeneralRun::wait(p.clone(), input),
    }
}

/// Runs a plan on the pool; `finish` gets the results.
pub fn spawn(plan: Arc<Plan>, input: RunInput, finish: OnFinish) {
    let pool = input.step.device.pool.clone();
    pool.spawn(Box::new(move || yielding(|| start(&plan, input, finish))));
}

/// Runs a plan on the calling thread until it ends or has to wait; `finish` gets the results, on any thread.
pub fn start(plan: &Plan, input: RunInput, finish: OnFinish) {
    match plan {
        Plan::Straight(_) => finish(run(plan, input)),
        Plan::General(p) => {
            trace_constants(plan, &input);
            GeneralRun::start(p.clone(), input, finish)
        }
    }
}

/// Constants take no time; clients that draw a trace show where they are.
fn trace_constants(plan: &Plan, input: &RunInput) {
    if let Some(trace) = &input.step.trace {
        plan.constant_names().iter().for_each(|name| trace.has_constant(name, &input.step.device.name));
    }
}
