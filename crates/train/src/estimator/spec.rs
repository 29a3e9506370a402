//! `EstimatorSpec`: what a model function returns; `Model`: what builds one.

use crate::feature_column::Features;
use crate::hooks::Hook;
use crate::metrics::Metric;
use thalweg_client::{Operation, Output, Result, Scope};

/// The mode that a graph is built for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Labels are given, and a `train_op` is needed.
    Train,
    /// Labels are given; the loss and metrics are needed.
    Evaluate,
    /// There are no labels; predictions are needed.
    Predict,
}

/// The nodes of a model that an estimator runs.
#[derive(Default)]
pub struct EstimatorSpec {
    /// For prediction: tensors with a row for each example, by name.
    pub predictions: Vec<(String, Output)>,
    /// For training and evaluation: the scalar loss of a batch.
    pub loss: Option<Output>,
    /// For training: updates the variables and increments the global step.
    pub train_op: Option<Operation>,
    /// For evaluation, by name; the mean of the loss is always added.
    pub metrics: Vec<(String, Metric)>,
    /// Hooks for training.
    pub hooks: Vec<Box<dyn Hook>>,
}

impl EstimatorSpec {
    /// A spec for training.
    pub fn train(loss: &Output, train_op: &Operation) -> EstimatorSpec {
        EstimatorSpec { loss: Some(loss.clone()), train_op: Some(train_op.clone()), ..Default::default() }
    }

    /// A spec for evaluation; [`EstimatorSpec::metric`] adds metrics.
    pub fn evaluate(loss: &Output) -> EstimatorSpec {
        EstimatorSpec { loss: Some(loss.clone()), ..Default::default() }
    }

    /// A spec for prediction.
    pub fn predict<'a>(predictions: impl IntoIterator<Item = (&'a str, &'a Output)>) -> EstimatorSpec {
        let predictions = predictions.into_iter().map(|(name, o)| (name.to_string(), o.clone())).collect();
        EstimatorSpec { predictions, ..Default::default() }
    }

    /// Adds a metric, which evaluation reports under this name.
    pub fn metric(mut self, name: &str, metric: Metric) -> EstimatorSpec {
        self.metrics.push((name.to_string(), metric));
        self
    }

    /// Adds a hook to training.
    pub fn hook(mut self, hook: impl Hook + 'static) -> EstimatorSpec {
        self.hooks.push(Box::new(hook));
        self
    }
}

/// A model function, of features, labels (`None` for prediction) and mode.
pub trait Model {
    /// Adds the model to the graph `g`.
    fn build(
        &self,
        g: &Scope,
        features: &Features,
        labels: Option<&Output>,
        mode: Mode,
    ) -> Result<EstimatorSpec>;
}

impl<F> Model for F
where
    F: Fn(&Scope, &Features, Option<&Output>, Mode) -> Result<EstimatorSpec>,
{
    fn build(
        &self,
        g: &Scope,
        features: &Features,
        labels: Option<&Output>,
        mode: Mode,
    ) -> Result<EstimatorSpec> {
        self(g, features, labels, mode)
    }
}
