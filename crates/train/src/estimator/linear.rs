//! Linear models: weighted sums of columns, and a head.

use super::canned::{Headed, OnePart};
use super::config::Estimator;
use super::heads::{Batch, Classifier, Head, Regressor};
use super::minimizer::Minimizer;
use super::spec::{EstimatorSpec, Mode, Model};
use crate::feature_column::{FeatureColumn, Features, linear_model};
use crate::optimizers::Ftrl;
use std::panic::Location;
use thalweg_client::{Output, Result, Scope};

/// A linear model over feature columns.
pub struct Linear<H> {
    head: H,
    columns: Vec<FeatureColumn>,
    minimizer: Option<Minimizer>,
    place: &'static Location<'static>,
}

/// A linear model for classification.
pub type LinearClassifier = Estimator<Linear<Classifier>>;

/// A linear model for regression.
pub type LinearRegressor = Estimator<Linear<Regressor>>;

impl LinearClassifier {
    /// For so many classes, trained by Ftrl at the smaller of 0.2 and `1 / sqrt(columns)` by default.
    #[track_caller]
    pub fn new(classes: usize) -> LinearClassifier {
        Estimator::of(Linear::new(Classifier::new(classes), Location::caller()))
    }
}

impl LinearRegressor {
    /// One output, trained as the classifier is.
    #[allow(clippy::new_without_default)]
    #[track_caller]
    pub fn new() -> LinearRegressor {
        Estimator::of(Linear::new(Regressor::new(), Location::caller()))
    }
}

impl<H> Linear<H> {
    fn new(head: H, place: &'static Location<'static>) -> Linear<H> {
        Linear { head, columns: Vec::new(), minimizer: None, place }
    }
}

impl<H: Head> Headed for Linear<H> {
    type Head = H;

    fn head(&mut self) -> &mut H {
        &mut self.head
    }
}

impl<H> OnePart for Linear<H> {
    fn columns(&mut self) -> &mut Vec<FeatureColumn> {
        &mut self.columns
    }

    fn minimizer(&mut self) -> &mut Option<Minimizer> {
        &mut self.minimizer
    }
}

/// Ftrl at the rate given, or a smaller one if there are many columns.
pub(super) fn usual_minimizer(rate: f64, columns: &[FeatureColumn]) -> Minimizer {
    Minimizer::of(Ftrl::new((1.0 / (columns.len() as f64).sqrt()).min(rate)))
}

/// The logits: weighted sums for each example.
pub(super) fn logits(
    g: &Scope,
    features: &Features,
    columns: &[FeatureColumn],
    count: usize,
) -> Result<Output> {
    linear_model(&g.variable_scope("linear"), features, columns, count)
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
        let logits = logits(g, features, &self.columns, self.head.logits())?;
        let minimizer = self.minimizer.clone().unwrap_or_else(|| usual_minimizer(0.2, &self.columns));
        self.head.spec(g, mode, &logits, Batch { features, labels }, &|loss| minimizer.minimize(g, loss))
    }
}
