//! Shape-specialised plans. Placeholders usually have an unknown batch size, yet it is the same in every run: after a few runs with
//! the same shapes, a plan is compiled for them.

use super::compile::Compiled;
use super::{Inner, RunOptions};
use std::sync::{Arc, Mutex};
use thalweg_core::shape::Shape;
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;

/// Runs with the same shapes before a plan is compiled for them.
const RUNS: u32 = 4;

/// Plans compiled for one signature: shapes that keep changing get no more.
const PLANS: u32 = 4;

/// The shapes that a signature is fed with, and the plan for them.
#[derive(Default)]
pub struct ShapeSpecialised(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    /// The shapes of the last run, and how many before it had them too.
    shapes: Vec<Shape>,
    runs: u32,
    made: u32,
    plan: Option<Arc<Compiled>>,
}

impl ShapeSpecialised {
    /// Notes a run with these values. Returns the plan for their shapes, and whether it is time to compile one.
    fn note(&self, feeds: &[Tensor]) -> (Option<Arc<Compiled>>, bool) {
        let mut seen = lock(&self.0);
        let same =
            seen.shapes.len() == feeds.len() && seen.shapes.iter().zip(feeds).all(|(s, t)| s == t.shape());
        if same {
            if seen.plan.is_some() {
                return (seen.plan.clone(), false);
            }
            seen.runs = seen.runs.saturating_add(1);
            return (None, seen.runs == RUNS && seen.made < PLANS);
        }
        if seen.plan.is_none() || seen.made < PLANS {
            *seen = Seen {
                shapes: feeds.iter().map(|t| t.shape().clone()).collect(),
                made: seen.made,
                ..Seen::default()
            };
        }
        (None, false)
    }

    fn keep(&self, feeds: &[Tensor], plan: Option<Arc<Compiled>>) {
        let mut seen = lock(&self.0);
        seen.made += 1;
        if seen.shapes.iter().zip(feeds).all(|(s, t)| s == t.shape()) {
            seen.plan = plan;
        }
    }
}

impl Inner {
    /// The plan to run with these values: the one for their shapes, if there is one.
    pub fn specialised(
        &self,
        compiled: &Arc<Compiled>,
        feeds: &[Tensor],
        options: &RunOptions,
    ) -> Arc<Compiled> {
        let Some(specialised) = &compiled.specialised else { return compiled.clone() };
        let (plan, is_time) = specialised.note(feeds);
        if !is_time {
            return plan.unwrap_or_else(|| compiled.clone());
        }
        let shapes: Vec<Shape> = feeds.iter().map(|t| t.shape().clone()).collect();
        // Shapes that cannot be compiled fail in the run, as without specialisation.
        let made = self.compile(&compiled.signature, Some(&shapes), options).ok().map(Arc::new);
        specialised.keep(feeds, made.clone());
        made.unwrap_or_else(|| compiled.clone())
    }
}
