//! `Trainer`: the training loop for models of one's own, with validation, checkpoints, callbacks and progress.
//!
//! ```
//! use thalweg_client::Scope;
//! use thalweg_client::data::Dataset;
//! use thalweg_train::layers::Dense;
//! use thalweg_train::losses;
//! use thalweg_train::optimizers::Adam;
//! use thalweg_train::trainer::{Fit, Trainer};
//!
//! let g = Scope::new();
//! g.set_random_seed(1);
//! let x: Vec<f32> = (0..100).map(|i| i as f32 / 100.0).collect();
//! let y: Vec<f32> = x.iter().map(|x| x * 2.0 + 1.0).collect();
//! let points = Dataset::from_tensor_slices(&g, ((x, [100, 1]), (y, [100, 1])));
//! let trained = Trainer::new(Adam::new(0.05))
//!     .epochs(40)
//!     .validation(&points.skip(80).batch(20))
//!     .fit(&g, &points.take(80).shuffle(80, Some(1)).batch(8), |g, batch, _training| {
//!         let line = Dense::new(1).name("line").apply(g, &batch[0]);
//!         Fit::new(losses::mean_squared_error(g, &batch[1], &line, None))
//!     })?;
//! assert_eq!(trained.history.len(), 40);
//! assert!(trained.last()?.validation["loss"] < 0.01);
//! let slope = g.find_variable("line/kernel").map(|v| v.value).ok_or_else(|| g.check().unwrap_err())?;
//! println!("slope {:.2}", trained.session.run(&slope, &[])?);
//! # Ok::<(), thalweg_client::Error>(())
//! ```
//!
//! The model is a function of a batch. It is called once for training and, if there is validation, once more with `training` false; both share
//! the variables, by the names that layers get in order. An epoch is one pass over the dataset. With a directory, each epoch ends with a
//! checkpoint and its measures are written for TensorBoard; a trainer with the same directory goes on after the newest checkpoint.

mod epoch;
mod progress;
mod running;

pub use epoch::{Epoch, Measures, Next, Trained};

use crate::optimizers::Optimizer;
use std::borrow::Borrow;
use std::path::{Path, PathBuf};
use thalweg_client::data::Dataset;
use thalweg_client::{Output, Outputs, Result, Scope, SessionOptions};

/// What a model computes for a batch.
pub struct Fit {
    pub(crate) loss: Output,
    pub(crate) metrics: Vec<(String, Output)>,
}

impl Fit {
    /// The loss, a scalar.
    pub fn new(loss: impl Borrow<Output>) -> Fit {
        Fit { loss: loss.borrow().clone(), metrics: Vec::new() }
    }

    /// A measure of the batch, a scalar; its mean over an epoch is reported beside the loss.
    pub fn metric(mut self, name: &str, value: impl Borrow<Output>) -> Fit {
        self.metrics.push((name.to_string(), value.borrow().clone()));
        self
    }
}

/// The settings of a training loop.
pub struct Trainer<'a> {
    optimizer: Box<dyn Optimizer + 'a>,
    epochs: u64,
    validation: Option<Dataset>,
    model_dir: Option<PathBuf>,
    options: SessionOptions,
    progress: bool,
    patience: Option<u64>,
    callbacks: Vec<Box<dyn FnMut(&Epoch) -> Next + 'a>>,
}

impl<'a> Trainer<'a> {
    /// One epoch, by default.
    pub fn new(optimizer: impl Optimizer + 'a) -> Trainer<'a> {
        Trainer {
            optimizer: Box::new(optimizer),
            epochs: 1,
            validation: None,
            model_dir: None,
            options: SessionOptions::default(),
            progress: false,
            patience: None,
            callbacks: Vec::new(),
        }
    }

    /// Passes over the dataset; those of earlier runs with the same directory count.
    pub fn epochs(mut self, epochs: u64) -> Self {
        self.epochs = epochs;
        self
    }

    /// Batches that are not trained on, but measured after each epoch. Their elements are like those of the training set.
    pub fn validation(mut self, batches: &Dataset) -> Self {
        self.validation = Some(batches.clone());
        self
    }

    /// The directory of checkpoints and event files.
    pub fn model_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.model_dir = Some(path.as_ref().to_path_buf());
        self
    }

    /// Threads and devices of the session.
    pub fn session_options(mut self, options: SessionOptions) -> Self {
        self.options = options;
        self
    }

    /// A line on standard error for each epoch; on a terminal also the state of the current one.
    pub fn progress(mut self) -> Self {
        self.progress = true;
        self
    }

    /// Ends training when the loss (of the validation, if there is one) has not fallen for so many epochs.
    pub fn early_stopping(mut self, epochs: u64) -> Self {
        self.patience = Some(epochs);
        self
    }

    /// Called after each epoch; [`Next::Stop`] ends training. Callbacks are called in their order.
    pub fn callback(mut self, call: impl FnMut(&Epoch) -> Next + 'a) -> Self {
        self.callbacks.push(Box::new(call));
        self
    }

    /// Trains the model that the function builds from a batch: the components of an element of `batches`.
    #[track_caller]
    pub fn fit(
        self,
        g: &Scope,
        batches: &Dataset,
        model: impl Fn(&Scope, &Outputs, bool) -> Fit,
    ) -> Result<Trained> {
        running::Running::start(self, g, batches, model)?.train()
    }
}
