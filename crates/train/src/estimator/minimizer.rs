//! `Minimizer`: how a model makes its optimizer, on whatever graph it is built.

use crate::get_or_create_global_step;
use crate::optimizers::{Minimize, Optimizer};
use std::sync::Arc;
use thalweg_client::{Operation, Output, Result, Scope};

/// An optimizer, or a function that makes one on a graph: for schedules, which are nodes.
#[derive(Clone)]
pub struct Minimizer(Arc<dyn Fn(&Scope) -> Arc<dyn Optimizer>>);

impl Minimizer {
    pub fn of(optimizer: impl Optimizer + 'static) -> Minimizer {
        let optimizer: Arc<dyn Optimizer> = Arc::new(optimizer);
        Minimizer(Arc::new(move |_| optimizer.clone()))
    }

    pub fn made_by<O: Optimizer + 'static>(make: impl Fn(&Scope) -> O + 'static) -> Minimizer {
        Minimizer(Arc::new(move |g| Arc::new(make(g))))
    }

    /// The op that makes the loss smaller and counts the global step.
    pub(super) fn minimize(&self, g: &Scope, loss: &Output) -> Result<Operation> {
        let step = get_or_create_global_step(g);
        self.0(g).minimize(g, loss, Some(&step))
    }
}
