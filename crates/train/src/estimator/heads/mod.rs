//! Heads: predictions, loss and metrics of a model's last layer.

mod binary;
mod classifier;
mod labels;
mod multi_class;
mod regressor;
mod weighing;

pub use classifier::Classifier;
pub use regressor::Regressor;
pub use weighing::Weighing;

use super::spec::{EstimatorSpec, Mode};
use crate::feature_column::Features;
use thalweg_client::{Operation, Output, Result, Scope};

/// What a batch's losses become.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reduction {
    /// The sum over the examples, as in TensorFlow's estimators of version 1.
    #[default]
    Sum,
    /// The mean over the examples, weighted if they have weights.
    Mean,
}

/// The examples that a model is made for.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// Their features.
    pub features: &'a Features,
    /// Their labels; `None` for prediction.
    pub labels: Option<&'a Output>,
}

/// What turns a model's last layer into predictions, a loss and metrics.
pub trait Head {
    /// The width of the last layer.
    fn logits(&self) -> usize;

    /// How the losses of examples become one.
    fn weighing(&mut self) -> &mut Weighing;

    /// What an estimator runs; `train` makes the op that makes the loss smaller.
    fn spec(
        &self,
        g: &Scope,
        mode: Mode,
        logits: &Output,
        batch: Batch<'_>,
        train: &dyn Fn(&Output) -> Result<Operation>,
    ) -> Result<EstimatorSpec>;
}
