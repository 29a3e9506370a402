//! `Regressor`: the head of regression models.

use super::{Batch, Head, Weighing, labels};
use crate::estimator::invalid;
use crate::estimator::spec::{EstimatorSpec, Mode};
use crate::metrics;
use thalweg_client::{DataType, Operation, Output, Result, Scope};

/// Regression with the squared error.
pub struct Regressor {
    pub(in crate::estimator) dimension: usize,
    weighing: Weighing,
}

impl Regressor {
    /// A scalar label per example.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Regressor {
        Regressor { dimension: 1, weighing: Weighing::default() }
    }

    /// The size of an example's label.
    pub fn label_dimension(mut self, dimension: usize) -> Regressor {
        self.dimension = dimension;
        self
    }
}

impl Head for Regressor {
    fn logits(&self) -> usize {
        self.dimension
    }

    fn weighing(&mut self) -> &mut Weighing {
        &mut self.weighing
    }

    fn spec(
        &self,
        g: &Scope,
        mode: Mode,
        logits: &Output,
        batch: Batch<'_>,
        train: &dyn Fn(&Output) -> Result<Operation>,
    ) -> Result<EstimatorSpec> {
        let g = g.name_scope("head");
        let predictions = vec![("predictions".to_string(), logits.clone())];
        if mode == Mode::Predict {
            return Ok(EstimatorSpec { predictions, ..Default::default() });
        }
        let labels = labels::given(batch.labels)?;
        let t = labels.dtype();
        if !(t.is_float() || t.is_integer()) {
            return Err(invalid(format!(
                "the labels are {t}, but a regressor needs numbers; use a classifier, or parse them"
            )));
        }
        let labels = g.cast(&labels::matrix(&g, labels, self.dimension)?, DataType::Float);
        let losses = g.squared_difference(logits, &labels);
        let weights = self.weighing.weights(&g, batch.features)?;
        let loss = self.weighing.loss(&g, &losses, weights.as_ref());
        let mut spec = EstimatorSpec { predictions, loss: Some(loss.clone()), ..Default::default() };
        if mode == Mode::Train {
            spec.train_op = Some(train(&loss)?);
            return Ok(spec);
        }
        let mean = |name: &str, of: &Output| (name.to_string(), metrics::mean(&g, of, weights.as_ref()));
        spec.metrics =
            vec![mean("average_loss", &losses), mean("label/mean", &labels), mean("prediction/mean", logits)];
        Ok(spec)
    }
}
