//! The results of the parts of a step, collected until the last has ended.

use super::OnFinish;
use crate::step_error::StepError;
use std::sync::{Arc, Mutex};
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Result, internal};
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;

pub struct PartResults {
    collected: Mutex<Collected>,
    cancel: Arc<Cancellation>,
}

struct Collected {
    values: Vec<Option<Tensor>>,
    error: StepError,
    /// Parts still running.
    missing: usize,
    finish: Option<OnFinish>,
}

impl PartResults {
    /// `finish` gets the step's fetches when all parts have ended. A part that fails cancels the others.
    pub fn new(
        fetches: usize,
        parts: usize,
        cancel: Arc<Cancellation>,
        finish: OnFinish,
    ) -> Arc<PartResults> {
        let values = vec![None; fetches];
        let collected =
            Collected { values, error: StepError::default(), missing: parts, finish: Some(finish) };
        Arc::new(PartResults { collected: Mutex::new(collected), cancel })
    }

    /// The callback of one part. `fetches`: which of the step's fetches its values are.
    pub fn part(self: &Arc<Self>, fetches: Vec<usize>) -> OnFinish {
        let all = self.clone();
        Box::new(move |result| all.add(&fetches, result))
    }

    fn add(&self, fetches: &[usize], result: Result<Vec<Tensor>>) {
        // Other parts may end before this returns, so no lock is held.
        if let Err(e) = &result {
            self.cancel.cancel(e.clone().derived());
        }
        let mut all = lock(&self.collected);
        all.missing = all.missing.saturating_sub(1);
        match result {
            Ok(values) => {
                for (i, v) in fetches.iter().zip(values) {
                    if let Some(slot) = all.values.get_mut(*i) {
                        *slot = Some(v);
                    }
                }
            }
            Err(e) => drop(all.error.note(e)),
        }
        if all.missing > 0 {
            return;
        }
        let Some(finish) = all.finish.take() else { return };
        let results = match all.error.take() {
            Some(e) => Err(e),
            None => {
                let values = std::mem::take(&mut all.values);
                values.into_iter().map(|v| v.ok_or_else(|| internal("a fetch is missing"))).collect()
            }
        };
        drop(all);
        finish(results);
    }
}
