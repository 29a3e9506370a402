//! Normalization: activations scaled to mean 0 and variance 1, then scaled and shifted by learned parameters.

use super::last_dim;
use super::weights::Weights;
use crate::initializers::{Ones, Zeros};
use thalweg_client::{Output, Scope, Variable, VariableOptions, keys};

/// Over the batch: by each channel's batch mean and variance in training, by the moving averages in inference.
pub struct BatchNormalization<'a> {
    momentum: f64,
    epsilon: f64,
    name: Option<&'a str>,
    weights: Weights,
}

/// Whether moments are those of the batch.
#[derive(Clone, Copy)]
enum Training<'a> {
    Yes,
    No,
    When(&'a Output),
}

impl Default for BatchNormalization<'_> {
    fn default() -> Self {
        BatchNormalization { momentum: 0.99, epsilon: 1e-3, name: None, weights: Weights::default() }
    }
}

impl<'a> BatchNormalization<'a> {
    /// With momentum 0.99 and epsilon 0.001.
    pub fn new() -> Self {
        Self::default()
    }

    /// The decay of the moving averages.
    pub fn momentum(self, momentum: f64) -> Self {
        BatchNormalization { momentum, ..self }
    }

    /// Added to the variance.
    pub fn epsilon(self, epsilon: f64) -> Self {
        BatchNormalization { epsilon, ..self }
    }

    /// The variable scope; `batch_normalization` with a number by default.
    pub fn name(self, name: &'a str) -> Self {
        BatchNormalization { name: Some(name), ..self }
    }

    /// In training, the updates of the moving averages go to the collection `UPDATE_OPS`: run them with each step.
    #[track_caller]
    pub fn apply(&self, g: &Scope, x: &Output, training: bool) -> Output {
        self.normalized(g, x, if training { Training::Yes } else { Training::No })
    }

    /// As `apply`, where a boolean of the graph says in each step whether it is a training step.
    #[track_caller]
    pub fn apply_when(&self, g: &Scope, x: &Output, training: &Output) -> Output {
        self.normalized(g, x, Training::When(training))
    }

    #[track_caller]
    fn normalized(&self, g: &Scope, x: &Output, training: Training<'_>) -> Output {
        let g = self.weights.scope(g, self.name, "batch_normalization");
        let channels = last_dim(&g, "batch_normalization", x);
        let variable = |name: &str, ones: bool, trainable: bool| {
            let options = VariableOptions { dtype: x.dtype(), trainable };
            let initializer: &dyn thalweg_client::Initializer = if ones { &Ones } else { &Zeros };
            g.get_variable_with(name, &[channels], initializer, options)
        };
        let (gamma, beta) = (variable("gamma", true, true), variable("beta", false, true));
        let (mean, variance) =
            (variable("moving_mean", false, false), variable("moving_variance", true, false));
        if x.shape().rank() == Some(4) {
            return self.fused(&g, x, training, [&gamma, &beta, &mean, &variance]);
        }
        let axes: Vec<i32> = (0..x.shape().rank().unwrap_or(2) as i32 - 1).collect();
        let (m, v) = match training {
            Training::No => (mean.value.clone(), variance.value.clone()),
            training => {
                let mut m = g.reduce_mean(x, &axes);
                let mut v = g.reduce_mean(g.squared_difference(x, g.stop_gradient(&m)), &axes);
                // Towards themselves, averages do not move.
                if let Training::When(is_training) = training {
                    m = g.op("SelectV2").input(is_training).input(m).input(&mean.value).output();
                    v = g.op("SelectV2").input(is_training).input(v).input(&variance.value).output();
                }
                self.update(&g, &mean, &m);
                self.update(&g, &variance, &v);
                (m, v)
            }
        };
        let scale = g.rsqrt(v + g.number(self.epsilon, x.dtype())) * &gamma.value;
        x * &scale + (&beta.value - m * &scale)
    }

    fn fused(
        &self,
        g: &Scope,
        x: &Output,
        training: Training<'_>,
        [gamma, beta, mean, variance]: [&Variable; 4],
    ) -> Output {
        let by_batch = |g: &Scope| {
            let none = g.constant(Vec::<f32>::new());
            self.fused_op(g, x, [gamma, beta], [&none, &none], true)
        };
        let by_averages = |g: &Scope| {
            let made = self.fused_op(g, x, [gamma, beta], [&mean.value, &variance.value], false);
            made.into_iter().take(1).chain([mean.read(g), variance.read(g)]).collect()
        };
        let outputs: Vec<Output> = match training {
            Training::Yes => by_batch(g),
            Training::No => by_averages(g),
            Training::When(is_training) => {
                g.cond(is_training, &[], |g, _| by_batch(g), |g, _| by_averages(g)).to_vec()
            }
        };
        if let ([_, m, v], true) = (outputs.as_slice(), !matches!(training, Training::No)) {
            self.update(g, mean, m);
            self.update(g, variance, v);
        }
        outputs.into_iter().next().unwrap_or_else(|| x.clone())
    }

    /// The normalised images, and the mean and variance of the batch.
    fn fused_op(
        &self,
        g: &Scope,
        x: &Output,
        [gamma, beta]: [&Variable; 2],
        [mean, variance]: [&Output; 2],
        training: bool,
    ) -> Vec<Output> {
        let op = g.op("FusedBatchNormV3").input(x).input(&gamma.value).input(&beta.value);
        let op = op.input(mean).input(variance).attr("epsilon", self.epsilon as f32);
        op.attr("is_training", training).outputs().into_iter().take(3).collect()
    }

    fn update(&self, g: &Scope, average: &Variable, value: &Output) {
        let step = (average.read(g) - value) * g.number(1.0 - self.momentum, value.dtype());
        let update = average.assign_sub(step);
        g.add_operation_to_collection(keys::UPDATE_OPS, &update);
    }
}

/// Over the last dimension of each example.
pub struct LayerNormalization<'a> {
    epsilon: f64,
    name: Option<&'a str>,
    weights: Weights,
}

impl Default for LayerNormalization<'_> {
    fn default() -> Self {
        LayerNormalization { epsilon: 1e-3, name: None, weights: Weights::default() }
    }
}

impl<'a> LayerNormalization<'a> {
    /// With epsilon 0.001.
    pub fn new() -> Self {
        Self::default()
    }

    /// Added to the variance.
    pub fn epsilon(self, epsilon: f64) -> Self {
        LayerNormalization { epsilon, ..self }
    }

    /// The variable scope; `layer_normalization` with a number by default.
    pub fn name(self, name: &'a str) -> Self {
        LayerNormalization { name: Some(name), ..self }
    }

    /// Makes the variables `gamma` and `beta` and applies the layer.
    #[track_caller]
    pub fn apply(&self, g: &Scope, x: &Output) -> Output {
        let g = self.weights.scope(g, self.name, "layer_normalization");
        let size = last_dim(&g, "layer_normalization", x);
        let options = VariableOptions { dtype: x.dtype(), trainable: true };
        let gamma = g.get_variable_with("gamma", &[size], &Ones, options);
        let beta = g.get_variable_with("beta", &[size], &Zeros, options);
        let mean = g.reduce_mean_kept(x, &[-1]);
        let variance = g.reduce_mean_kept(g.squared_difference(x, &mean), &[-1]);
        let scale = g.rsqrt(variance + g.number(self.epsilon, x.dtype()));
        (x - mean) * scale * &gamma.value + &beta.value
    }
}
