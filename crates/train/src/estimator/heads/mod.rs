//! Heads: what a model's last layer means, how far it is from the labels, and what is measured.

mod binary;
mod classifier;
mod labels;
mod multi_class;
mod regressor;

pub use classifier::Classifier;
pub use regressor::Regressor;

use super::spec::{EstimatorSpec, Mode};
use thalweg_client::{Operation, Output, Result, Scope};

/// What a batch's losses become.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reduction {
    /// The sum over the examples, as in TensorFlow's estimators of version 1.
    #[default]
    Sum,
    Mean,
}

impl Reduction {
    fn of(self, g: &Scope, losses: &Output) -> Output {
        match self {
            Reduction::Sum => g.reduce_sum(losses, &[]),
            Reduction::Mean => g.reduce_mean(losses, &[]),
        }
    }
}

/// The end of a model.
pub trait Head {
    /// How many numbers the model must give for each example.
    fn logits(&self) -> usize;

    fn set_reduction(&mut self, reduction: Reduction);

    /// What an estimator runs; `train` makes the op that makes the loss smaller.
    fn spec(
        &self,
        g: &Scope,
        mode: Mode,
        logits: &Output,
        labels: Option<&Output>,
        train: &dyn Fn(&Output) -> Result<Operation>,
    ) -> Result<EstimatorSpec>;
}
