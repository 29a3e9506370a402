//! What a training loop reports.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Index;
use std::time::Duration;
use thalweg_client::{Code, Error, Result, Session};

/// Means over an epoch, by name: `loss`, and the metrics of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures(pub BTreeMap<String, f32>);

/// `measures["loss"]`: NaN if there is no such measure.
impl Index<&str> for Measures {
    type Output = f32;
    fn index(&self, name: &str) -> &f32 {
        self.0.get(name).unwrap_or(&f32::NAN)
    }
}

/// One pass over the training set.
#[derive(Clone, Debug, PartialEq)]
pub struct Epoch {
    /// Counted from 1, over all runs with the same directory.
    pub number: u64,
    /// The global step at its end.
    pub step: i64,
    /// Steps of this epoch.
    pub steps: u64,
    /// Means over the training batches, as they were before each update.
    pub training: Measures,
    /// Means over the validation batches, after the epoch; empty without validation.
    pub validation: Measures,
    /// Wall-clock time, validation included.
    pub took: Duration,
}

impl Epoch {
    /// The loss that training is judged by: that of the validation, if there is one.
    pub fn loss(&self) -> f32 {
        if self.validation.0.is_empty() { self.training["loss"] } else { self.validation["loss"] }
    }
}

/// `epoch 3  loss 0.1234  accuracy 0.9500  val_loss 0.1300  val_accuracy 0.9400  812 steps/s`.
impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {}", self.number)?;
        for (prefix, measures) in [("", &self.training), ("val_", &self.validation)] {
            // The loss first.
            let (loss, others): (Vec<_>, Vec<_>) = measures.0.iter().partition(|(name, _)| *name == "loss");
            for (name, value) in loss.into_iter().chain(others) {
                write!(f, "  {prefix}{name} {value:.4}")?;
            }
        }
        write!(f, "  {:.0} steps/s", self.steps as f64 / self.took.as_secs_f64().max(1e-9))
    }
}

/// Whether training goes on after an epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// With the next epoch.
    Continue,
    /// No more epochs.
    Stop,
}

/// The result of a training loop.
pub struct Trained {
    /// With the trained variables, for predictions.
    pub session: Session,
    /// The epochs of this run.
    pub history: Vec<Epoch>,
}

impl Trained {
    /// The last epoch; an error if there was none, as all were made by earlier runs.
    pub fn last(&self) -> Result<&Epoch> {
        let none = || Error::new(Code::FailedPrecondition, "no epoch was trained in this run".to_string());
        self.history.last().ok_or_else(none)
    }
}
