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

/// How the losses of a batch are reduced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reduction {
    /// The sum over the examples, as in TensorFlow's estimators of version 1.
    #[default]
    Sum,
    /// The mean over the examples, weighted if they have weights.
    Mean,
}

/// The features and labels of a batch.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// Their features.
    pub features: &'a Features,
    /// Their labels; `None` for prediction.
    pub labels: Option<&'a Output>,
}

/// Turns a model's logits into predictions, a loss and metrics.
pub trait Head {
    /// The number of logits.
    fn logits(&self) -> usize;

    /// Example weights and loss reduction.
    fn weighing(&mut self) -> &mut Weighing;

    /// The nodes that an estimator runs; `train` makes the op that minimizes the loss.
    fn spec(
        &self,
        g: &Scope,
        mode: Mode,
        logits: &Output,
        batch: Batch<'_>,
        train: &dyn Fn(&Output) -> Result<Operation>,
    ) -> Result<EstimatorSpec>;
}
