//! Heads: what a model's last layer means, how far it is from the labels, and what is measured.

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
    Mean,
}

/// The examples that a model is made for.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    pub features: &'a Features,
    pub labels: Option<&'a Output>,
}

/// The end of a model.
pub trait Head {
    /// How many numbers the model must give for each example.
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
