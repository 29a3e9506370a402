//! Plans for the shapes that a signature is in fact fed with. Placeholders usually leave the size of a batch open, and then it is
//! the same in every run: after a few of them, a plan is made in which it is known.

use super::compile::Compiled;
use super::{Inner, RunOptions};
use std::sync::{Arc, Mutex};
use thalweg_core::shape::Shape;
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;

/// Runs with the same shapes before they are worth a plan of their own.
const RUNS: u32 = 4;

/// Plans made for one signature, one after another: shapes that go on changing get no more.
const PLANS: u32 = 4;

/// What is known of the shapes that a signature is fed with.
#[derive(Default)]
pub struct Special(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    /// The shapes of the last run, and how many before it had them too.
    shapes: Vec<Shape>,
    runs: u32,
    made: u32,
    plan: Option<Arc<Compiled>>,
}

impl Special {
    /// Notes a run with these values, and says whether now is the time for a plan of their own.
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
    /// The plan to run with these values: one for their shapes, if there is one.
    pub fn fitting(&self, compiled: &Arc<Compiled>, feeds: &[Tensor], options: &RunOptions) -> Arc<Compiled> {
        let Some(special) = &compiled.special else { return compiled.clone() };
        let (plan, is_time) = special.note(feeds);
        if !is_time {
            return plan.unwrap_or_else(|| compiled.clone());
        }
        let shapes: Vec<Shape> = feeds.iter().map(|t| t.shape().clone()).collect();
        // What cannot be compiled for these shapes fails as it always did, in the run.
        let made = self.compile(&compiled.signature, Some(&shapes), options).ok().map(Arc::new);
        special.keep(feeds, made.clone());
        made.unwrap_or_else(|| compiled.clone())
    }
}
