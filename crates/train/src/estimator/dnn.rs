//! Deep nets: columns, hidden layers, and a head.

use super::config::Estimator;
use super::heads::{Batch, Classifier, Head, Reduction, Regressor};
use super::minimizer::Minimizer;
use super::spec::{EstimatorSpec, Mode, Model};
use crate::feature_column::{FeatureColumn, Features, input_layer};
use crate::layers::{Activation, Dense, dropout};
use crate::optimizers::{Adagrad, Optimizer};
use crate::summary;
use std::panic::Location;
use thalweg_client::{DataType, Output, Result, Scope};

/// A net of hidden layers over feature columns.
pub struct Dnn<H> {
    hidden_units: Vec<usize>,
    head: H,
    columns: Vec<FeatureColumn>,
    minimizer: Minimizer,
    activation: Activation,
    dropout: f64,
    place: &'static Location<'static>,
}

/// A deep net that tells classes apart.
pub type DNNClassifier = Estimator<Dnn<Classifier>>;

/// A deep net that finds numbers.
pub type DNNRegressor = Estimator<Dnn<Regressor>>;

impl DNNClassifier {
    /// A net with hidden layers of these sizes for so many classes, trained by Adagrad at 0.05 unless told otherwise.
    #[track_caller]
    pub fn new(hidden_units: &[usize], classes: usize) -> DNNClassifier {
        Estimator::of(Dnn::new(hidden_units, Classifier::new(classes), Location::caller()))
    }

    /// Labels are these strings instead of numbers.
    pub fn label_vocabulary<'a>(mut self, labels: impl IntoIterator<Item = &'a str>) -> Self {
        self.model.head = self.model.head.label_vocabulary(labels);
        self
    }
}

impl DNNRegressor {
    /// A net with hidden layers of these sizes for one number.
    #[track_caller]
    pub fn new(hidden_units: &[usize]) -> DNNRegressor {
        Estimator::of(Dnn::new(hidden_units, Regressor::new(), Location::caller()))
    }

    /// How many numbers the label of an example has.
    pub fn label_dimension(mut self, dimension: usize) -> Self {
        self.model.head = self.model.head.label_dimension(dimension);
        self
    }
}

impl<H: Head> Estimator<Dnn<H>> {
    /// The columns that the net sees; one more with [`Estimator::column`].
    pub fn columns(mut self, columns: impl IntoIterator<Item = FeatureColumn>) -> Self {
        self.model.columns.extend(columns);
        self
    }

    pub fn column(mut self, column: impl Into<FeatureColumn>) -> Self {
        self.model.columns.push(column.into());
        self
    }

    pub fn optimizer(mut self, optimizer: impl Optimizer + 'static) -> Self {
        self.model.minimizer = Minimizer::of(optimizer);
        self
    }

    /// The optimizer is made on the graph that is trained: for learning rates that are nodes.
    pub fn optimizer_fn<O: Optimizer + 'static>(mut self, make: impl Fn(&Scope) -> O + 'static) -> Self {
        self.model.minimizer = Minimizer::made_by(make);
        self
    }

    /// Of the hidden layers; relu unless told otherwise.
    pub fn activation(mut self, activation: Activation) -> Self {
        self.model.activation = activation;
        self
    }

    /// The share of hidden units that training leaves out at random.
    pub fn dropout(mut self, rate: f64) -> Self {
        self.model.dropout = rate;
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

impl<H> Dnn<H> {
    fn new(hidden_units: &[usize], head: H, place: &'static Location<'static>) -> Dnn<H> {
        Dnn {
            hidden_units: hidden_units.to_vec(),
            head,
            columns: Vec::new(),
            minimizer: Minimizer::of(Adagrad::new(0.05)),
            activation: Activation::Relu,
            dropout: 0.0,
            place,
        }
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
        let dnn = g.variable_scope("dnn");
        let mut x = input_layer(&dnn.variable_scope("input_from_feature_columns"), features, &self.columns)?;
        for (i, units) in self.hidden_units.iter().enumerate() {
            let name = format!("hiddenlayer_{i}");
            x = Dense::new(*units).name(&name).activation(self.activation).apply(&dnn, &x);
            x = dropout(&dnn, &x, self.dropout, mode == Mode::Train, None);
            summarize(&dnn, &format!("{name}_summary"), &x, mode);
        }
        let logits = Dense::new(self.head.logits()).name("logits").apply(&dnn, &x);
        summarize(&dnn, "logits_summary", &logits, mode);
        self.head.spec(g, mode, &logits, Batch { features, labels }, &|loss| self.minimizer.minimize(g, loss))
    }
}

/// What TensorBoard shows of a layer: how its values are spread, and how many of them are zero.
fn summarize(g: &Scope, name: &str, x: &Output, mode: Mode) {
    if mode != Mode::Train {
        return;
    }
    let g = g.name_scope(name);
    let zeros = g.equal(x, &g.zeros_like(x));
    summary::scalar(&g, "fraction_of_zero_values", &g.reduce_mean(&g.cast(&zeros, DataType::Float), &[]));
    summary::histogram(&g, "activation", x);
}
