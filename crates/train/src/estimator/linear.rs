//! Linear models: weighted sums of columns, and a head.

use super::config::Estimator;
use super::heads::{Batch, Classifier, Head, Reduction, Regressor};
use super::minimizer::Minimizer;
use super::spec::{EstimatorSpec, Mode, Model};
use crate::feature_column::{FeatureColumn, Features, linear_model};
use crate::optimizers::{Ftrl, Optimizer};
use std::panic::Location;
use thalweg_client::{Output, Result, Scope};

/// A linear model over feature columns.
pub struct Linear<H> {
    head: H,
    columns: Vec<FeatureColumn>,
    minimizer: Option<Minimizer>,
    place: &'static Location<'static>,
}

/// A linear model that tells classes apart.
pub type LinearClassifier = Estimator<Linear<Classifier>>;

/// A linear model that finds numbers.
pub type LinearRegressor = Estimator<Linear<Regressor>>;

impl LinearClassifier {
    /// For so many classes, trained by Ftrl at the smaller of 0.2 and `1 / sqrt(columns)` unless told otherwise.
    #[track_caller]
    pub fn new(classes: usize) -> LinearClassifier {
        Estimator::of(Linear::new(Classifier::new(classes), Location::caller()))
    }

    /// Labels are these strings instead of numbers.
    pub fn label_vocabulary<'a>(mut self, labels: impl IntoIterator<Item = &'a str>) -> Self {
        self.model.head = self.model.head.label_vocabulary(labels);
        self
    }
}

impl LinearRegressor {
    #[allow(clippy::new_without_default)]
    #[track_caller]
    pub fn new() -> LinearRegressor {
        Estimator::of(Linear::new(Regressor::new(), Location::caller()))
    }

    /// How many numbers the label of an example has.
    pub fn label_dimension(mut self, dimension: usize) -> Self {
        self.model.head = self.model.head.label_dimension(dimension);
        self
    }
}

impl<H: Head> Estimator<Linear<H>> {
    /// The columns that the model sees; one more with [`Estimator::column`].
    pub fn columns(mut self, columns: impl IntoIterator<Item = FeatureColumn>) -> Self {
        self.model.columns.extend(columns);
        self
    }

    pub fn column(mut self, column: impl Into<FeatureColumn>) -> Self {
        self.model.columns.push(column.into());
        self
    }

    pub fn optimizer(mut self, optimizer: impl Optimizer + 'static) -> Self {
        self.model.minimizer = Some(Minimizer::of(optimizer));
        self
    }

    /// The optimizer is made on the graph that is trained: for learning rates that are nodes.
    pub fn optimizer_fn<O: Optimizer + 'static>(mut self, make: impl Fn(&Scope) -> O + 'static) -> Self {
        self.model.minimizer = Some(Minimizer::made_by(make));
        self
    }

    /// Whether the loss of a batch is the sum over its examples, as it is unless told otherwise, or the mean.
    pub fn loss_reduction(mut self, reduction: Reduction) -> Self {
        self.model.head.weighing().reduction = reduction;
        self
    }

    /// The feature of this name says how much each example counts, in the loss and in the metrics.
    #[track_caller]
    pub fn weight_column(mut self, feature: &str) -> Self {
        self.model.head.weighing().column = Some((feature.to_string(), Location::caller()));
        self
    }
}

impl<H> Linear<H> {
    fn new(head: H, place: &'static Location<'static>) -> Linear<H> {
        Linear { head, columns: Vec::new(), minimizer: None, place }
    }
}

impl<H: Head> Model for Linear<H> {
    fn build(
        &self,
        g: &Scope,
        features: &Features,
        labels: Option<&Output>,
        mode: Mode,
    ) -> Result<EstimatorSpec> {
        let g = &g.made_at(self.place);
        let linear = g.variable_scope("linear");
        let logits = linear_model(&linear, features, &self.columns, self.head.logits())?;
        let usual = || Minimizer::of(Ftrl::new((1.0 / (self.columns.len() as f64).sqrt()).min(0.2)));
        let minimizer = self.minimizer.clone().unwrap_or_else(usual);
        self.head.spec(g, mode, &logits, Batch { features, labels }, &|loss| minimizer.minimize(g, loss))
    }
}
