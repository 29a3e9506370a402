//! `HiddenLayers`: feature columns, dense layers, and the logits.

use super::spec::Mode;
use crate::feature_column::{FeatureColumn, Features, input_layer};
use crate::layers::{Activation, Dense, dropout};
use crate::summary;
use thalweg_client::{DataType, Output, Result, Scope};

pub struct HiddenLayers {
    pub units: Vec<usize>,
    pub columns: Vec<FeatureColumn>,
    pub activation: Activation,
    pub dropout: f64,
}

impl HiddenLayers {
    pub fn new(units: &[usize]) -> HiddenLayers {
        let (units, columns) = (units.to_vec(), Vec::new());
        HiddenLayers { units, columns, activation: Activation::Relu, dropout: 0.0 }
    }

    /// `count` logits for each example.
    pub fn logits(&self, g: &Scope, features: &Features, count: usize, mode: Mode) -> Result<Output> {
        let dnn = g.variable_scope("dnn");
        let mut x = input_layer(&dnn.variable_scope("input_from_feature_columns"), features, &self.columns)?;
        for (i, units) in self.units.iter().enumerate() {
            let name = format!("hiddenlayer_{i}");
            x = Dense::new(*units).name(&name).activation(self.activation).apply(&dnn, &x);
            x = dropout(&dnn, &x, self.dropout, mode == Mode::Train, None);
            summarize(&dnn, &format!("{name}_summary"), &x, mode);
        }
        let logits = Dense::new(count).name("logits").apply(&dnn, &x);
        summarize(&dnn, "logits_summary", &logits, mode);
        Ok(logits)
    }
}

/// Summaries of a layer: the histogram of its activations, and the fraction of zeros.
fn summarize(g: &Scope, name: &str, x: &Output, mode: Mode) {
    if mode != Mode::Train {
        return;
    }
    let g = g.name_scope(name);
    let zeros = g.equal(x, g.zeros_like(x));
    summary::scalar(&g, "fraction_of_zero_values", &g.reduce_mean(g.cast(&zeros, DataType::Float), &[]));
    summary::histogram(&g, "activation", x);
}
