//! Wide and deep: a linear model and a deep net whose logits are added, trained jointly, each by its own optimizer.

use super::canned::Headed;
use super::config::Estimator;
use super::heads::{Batch, Classifier, Head, Regressor};
use super::hidden_layers::HiddenLayers;
use super::minimizer::Minimizer;
use super::spec::{EstimatorSpec, Mode, Model};
use super::{invalid, linear};
use crate::feature_column::{FeatureColumn, Features};
use crate::get_or_create_global_step;
use crate::layers::Activation;
use crate::optimizers::{Adagrad, Optimizer};
use std::panic::Location;
use thalweg_client::{Operation, Output, Result, Scope};

/// A linear model and a deep net over feature columns; either is left out if it has none.
pub struct DnnLinearCombined<H> {
    head: H,
    linear_columns: Vec<FeatureColumn>,
    linear_minimizer: Option<Minimizer>,
    layers: HiddenLayers,
    dnn_minimizer: Minimizer,
    place: &'static Location<'static>,
}

/// A wide and deep model for classification.
pub type DNNLinearCombinedClassifier = Estimator<DnnLinearCombined<Classifier>>;

/// A wide and deep model for regression.
pub type DNNLinearCombinedRegressor = Estimator<DnnLinearCombined<Regressor>>;

impl DNNLinearCombinedClassifier {
    /// For so many classes. By default, the linear part is trained by Ftrl at the smaller of 0.005 and `1 / sqrt(columns)`, the deep
    /// one by Adagrad at 0.001.
    #[track_caller]
    pub fn new(classes: usize) -> DNNLinearCombinedClassifier {
        Estimator::of(DnnLinearCombined::new(Classifier::new(classes), Location::caller()))
    }
}

impl DNNLinearCombinedRegressor {
    /// One output; optimizers are those of the classifier.
    #[allow(clippy::new_without_default)]
    #[track_caller]
    pub fn new() -> DNNLinearCombinedRegressor {
        Estimator::of(DnnLinearCombined::new(Regressor::new(), Location::caller()))
    }
}

impl<H: Head> Estimator<DnnLinearCombined<H>> {
    /// The feature columns of the linear part.
    pub fn linear_columns(mut self, columns: impl IntoIterator<Item = FeatureColumn>) -> Self {
        self.model.linear_columns.extend(columns);
        self
    }

    /// The optimizer of the linear part.
    pub fn linear_optimizer(mut self, optimizer: impl Optimizer + 'static) -> Self {
        self.model.linear_minimizer = Some(Minimizer::of(optimizer));
        self
    }

    /// The feature columns of the deep net.
    pub fn dnn_columns(mut self, columns: impl IntoIterator<Item = FeatureColumn>) -> Self {
        self.model.layers.columns.extend(columns);
        self
    }

    /// The sizes of the hidden layers.
    pub fn dnn_hidden_units(mut self, units: &[usize]) -> Self {
        self.model.layers.units = units.to_vec();
        self
    }

    /// The optimizer of the deep net.
    pub fn dnn_optimizer(mut self, optimizer: impl Optimizer + 'static) -> Self {
        self.model.dnn_minimizer = Minimizer::of(optimizer);
        self
    }

    /// Of the hidden layers; ReLU by default.
    pub fn dnn_activation(mut self, activation: Activation) -> Self {
        self.model.layers.activation = activation;
        self
    }

    /// The fraction of hidden units dropped in training.
    pub fn dnn_dropout(mut self, rate: f64) -> Self {
        self.model.layers.dropout = rate;
        self
    }
}

impl<H> DnnLinearCombined<H> {
    fn new(head: H, place: &'static Location<'static>) -> DnnLinearCombined<H> {
        DnnLinearCombined {
            head,
            linear_columns: Vec::new(),
            linear_minimizer: None,
            layers: HiddenLayers::new(&[]),
            dnn_minimizer: Minimizer::of(Adagrad::new(0.001)),
            place,
        }
    }

    fn check(&self) -> Result<()> {
        let (wide, deep) = (!self.linear_columns.is_empty(), !self.layers.columns.is_empty());
        let problem = match (wide, deep, self.layers.units.is_empty()) {
            (false, false, _) => {
                "the model has no columns; give it some with .linear_columns(..), .dnn_columns(..) or both"
            }
            (_, true, true) => {
                "the deep part has columns but no hidden layers; give their sizes with .dnn_hidden_units(&[..])"
            }
            (_, false, false) => {
                "there are hidden layers but no columns for them; give some with .dnn_columns(..)"
            }
            _ => return Ok(()),
        };
        Err(invalid(problem).at(Some(self.place)))
    }

    /// Groups the updates of both parts, then increments the global step once.
    fn train(&self, g: &Scope, loss: &Output) -> Result<Operation> {
        let mut parts = Vec::new();
        if !self.layers.columns.is_empty() {
            parts.push(self.dnn_minimizer.minimize_part(g, loss, "dnn")?);
        }
        if !self.linear_columns.is_empty() {
            let usual = || linear::usual_minimizer(0.005, &self.linear_columns);
            let minimizer = self.linear_minimizer.clone().unwrap_or_else(usual);
            parts.push(minimizer.minimize_part(g, loss, "linear")?);
        }
        let step = get_or_create_global_step(g);
        let after = g.control_dependencies(&parts);
        let after = after.only_on(&step.handle.op().device());
        let one = after.number(1.0, step.dtype());
        Ok(after.op("AssignAddVariableOp").input(&step.handle).input(&one).build())
    }
}

impl<H: Head> Headed for DnnLinearCombined<H> {
    type Head = H;

    fn head(&mut self) -> &mut H {
        &mut self.head
    }
}

impl<H: Head> Model for DnnLinearCombined<H> {
    fn build(
        &self,
        g: &Scope,
        features: &Features,
        labels: Option<&Output>,
        mode: Mode,
    ) -> Result<EstimatorSpec> {
        self.check()?;
        let (g, count) = (&g.made_at(self.place), self.head.logits());
        let deep = || self.layers.logits(g, features, count, mode);
        let wide = || linear::logits(g, features, &self.linear_columns, count);
        let logits = match (self.layers.columns.is_empty(), self.linear_columns.is_empty()) {
            (false, false) => &deep()? + &wide()?,
            (false, true) => deep()?,
            (true, _) => wide()?,
        };
        self.head.spec(g, mode, &logits, Batch { features, labels }, &|loss| self.train(g, loss))
    }
}
