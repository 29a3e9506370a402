//! `Minimizer`: builds the optimizer of a model on any graph.

use crate::get_or_create_global_step;
use crate::optimizers::{Minimize, Optimizer};
use std::sync::Arc;
use thalweg_client::{Operation, Output, Result, Scope};

/// An optimizer, or a function that makes one on a graph: for schedules, which are nodes.
#[derive(Clone)]
pub struct Minimizer(Arc<dyn Fn(&Scope) -> Arc<dyn Optimizer>>);

impl Minimizer {
    /// One optimizer for all graphs.
    pub fn of(optimizer: impl Optimizer + 'static) -> Minimizer {
        let optimizer: Arc<dyn Optimizer> = Arc::new(optimizer);
        Minimizer(Arc::new(move |_| optimizer.clone()))
    }

    /// An optimizer made on each graph that is trained.
    pub fn made_by<O: Optimizer + 'static>(make: impl Fn(&Scope) -> O + 'static) -> Minimizer {
        Minimizer(Arc::new(move |g| Arc::new(make(g))))
    }

    /// The train op: minimizes the loss and increments the global step.
    pub(super) fn minimize(&self, g: &Scope, loss: &Output) -> Result<Operation> {
        let step = get_or_create_global_step(g);
        self.0(g).minimize(g, loss, Some(&step))
    }

    /// The train op of the variables in one scope; does not increment the global step.
    pub(super) fn minimize_part(&self, g: &Scope, loss: &Output, scope: &str) -> Result<Operation> {
        let inside = |name: String| name.strip_prefix(scope).is_some_and(|rest| rest.starts_with('/'));
        let variables = g.trainable_variables().into_iter().filter(|v| inside(v.name())).collect();
        let optimizer = self.0(g);
        optimizer.apply_gradients(g, &optimizer.compute_gradients_of(g, loss, variables)?, None)
    }
}
