//! `Weighing`: example weights, and the reduction of a batch's losses.

use super::Reduction;
use crate::estimator::invalid;
use crate::feature_column::{Features, numbers_in_row};
use std::panic::Location;
use thalweg_client::{DataType, Output, Result, Scope};

/// How much each example counts.
#[derive(Clone, Debug, Default)]
pub struct Weighing {
    /// Of the losses of a batch.
    pub reduction: Reduction,
    /// The feature that holds example weights, and where it was named.
    pub column: Option<(String, &'static Location<'static>)>,
}

impl Weighing {
    /// Example weights as a column, if there are any.
    pub fn weights(&self, g: &Scope, features: &Features) -> Result<Option<Output>> {
        let Some((key, place)) = &self.column else { return Ok(None) };
        let weights = || -> Result<Output> {
            let x = features.get(key)?;
            let (t, shape) = (x.dtype(), x.shape());
            if !(t.is_float() || t.is_integer()) {
                return Err(invalid(format!("feature '{key}' is {t}, but weights of examples are numbers")));
            }
            if shape.rank() == Some(0) || numbers_in_row(&shape).is_some_and(|n| n != 1) {
                return Err(invalid(format!(
                    "feature '{key}' has shape {shape}, but the weights of examples are one number for each; name another with \
                     .weight_column(\"..\")"
                )));
            }
            Ok(g.reshape(g.cast(x, DataType::Float), &[-1, 1]))
        };
        weights().map(Some).map_err(|e| e.at(Some(place)))
    }

    /// Reduces the losses of a batch. `losses` has a row for each example.
    pub fn loss(&self, g: &Scope, losses: &Output, weights: Option<&Output>) -> Output {
        let losses = weights.map_or_else(|| losses.clone(), |w| losses * w);
        match self.reduction {
            Reduction::Sum => g.reduce_sum(&losses, &[]),
            Reduction::Mean => g.reduce_mean(&losses, &[]),
        }
    }
}
