//! Deep nets: columns, hidden layers, and a head.

use super::canned::{Headed, OnePart};
use super::config::Estimator;
use super::heads::{Batch, Classifier, Head, Regressor};
use super::hidden_layers::HiddenLayers;
use super::minimizer::Minimizer;
use super::spec::{EstimatorSpec, Mode, Model};
use crate::feature_column::{FeatureColumn, Features};
use crate::layers::Activation;
use crate::optimizers::Adagrad;
use std::panic::Location;
use thalweg_client::{Output, Result, Scope};

/// A net of hidden layers over feature columns.
pub struct Dnn<H> {
    layers: HiddenLayers,
    head: H,
    minimizer: Option<Minimizer>,
    place: &'static Location<'static>,
}

/// A deep net for classification.
pub type DNNClassifier = Estimator<Dnn<Classifier>>;

/// A deep net for regression.
pub type DNNRegressor = Estimator<Dnn<Regressor>>;

impl DNNClassifier {
    /// A net with hidden layers of these sizes for so many classes, trained by Adagrad at 0.05 by default.
    #[track_caller]
    pub fn new(hidden_units: &[usize], classes: usize) -> DNNClassifier {
        Estimator::of(Dnn::new(hidden_units, Classifier::new(classes), Location::caller()))
    }
}

impl DNNRegressor {
    /// A net with hidden layers of these sizes for one number.
    #[track_caller]
    pub fn new(hidden_units: &[usize]) -> DNNRegressor {
        Estimator::of(Dnn::new(hidden_units, Regressor::new(), Location::caller()))
    }
}

impl<H: Head> Estimator<Dnn<H>> {
    /// Of the hidden layers; ReLU by default.
    pub fn activation(mut self, activation: Activation) -> Self {
        self.model.layers.activation = activation;
        self
    }

    /// The fraction of hidden units dropped in training.
    pub fn dropout(mut self, rate: f64) -> Self {
        self.model.layers.dropout = rate;
        self
    }
}

impl<H> Dnn<H> {
    fn new(hidden_units: &[usize], head: H, place: &'static Location<'static>) -> Dnn<H> {
        Dnn { layers: HiddenLayers::new(hidden_units), head, minimizer: None, place }
    }
}

impl<H: Head> Headed for Dnn<H> {
    type Head = H;

    fn head(&mut self) -> &mut H {
        &mut self.head
    }
}

impl<H> OnePart for Dnn<H> {
    fn columns(&mut self) -> &mut Vec<FeatureColumn> {
        &mut self.layers.columns
    }

    fn minimizer(&mut self) -> &mut Option<Minimizer> {
        &mut self.minimizer
    }
}

impl<H: Head> Model for Dnn<H> {
    fn build(
        &self,
        g: &Scope,
        features: &Features,
        labels: Option<&Output>,
        mode: Mode,
    ) -> Result<EstimatorSpec> {
        let g = &g.made_at(self.place);
        let logits = self.layers.logits(g, features, self.head.logits(), mode)?;
        let minimizer = self.minimizer.clone().unwrap_or_else(|| Minimizer::of(Adagrad::new(0.05)));
        self.head.spec(g, mode, &logits, Batch { features, labels }, &|loss| minimizer.minimize(g, loss))
    }
}
