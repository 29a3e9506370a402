//! Estimators: models that train, evaluate and predict, with checkpoints in a directory.
//!
//! ```
//! use thalweg_client::data::Dataset;
//! use thalweg_train::estimator::{Input, LinearRegressor};
//! use thalweg_train::feature_column::numeric_columns;
//! use thalweg_train::optimizers::GradientDescent;
//!
//! let line = LinearRegressor::new().columns(numeric_columns(["x"])).optimizer(GradientDescent::new(0.01));
//! let x: Vec<f32> = (0..20).map(|i| i as f32 / 20.0).collect();
//! let y: Vec<f32> = x.iter().map(|x| x * 2.0 + 1.0).collect();
//! let input = |g: &_| Input::of(g, [("x", x.clone())], y.clone()).with(|d| d.repeat(None).batch(20));
//! line.train(input, 500)?;
//! for found in line.predict(|g| Input::features(g, [("x", vec![0.5f32])]).with(|d| d.batch(1)))? {
//!     assert!((found?.value()? - 2.0).abs() < 0.05);
//! }
//! # Ok::<(), thalweg_client::Error>(())
//! ```
//!
//! [`DNNClassifier`], [`DNNRegressor`], [`LinearClassifier`], [`LinearRegressor`] and both at once ([`DNNLinearCombinedClassifier`],
//! [`DNNLinearCombinedRegressor`]) take their input through feature columns ([`crate::feature_column`]). A model of your own is a function that builds an [`EstimatorSpec`], see [`Estimator::with_model_fn`].
//!
//! Input is described by a function of the graph that it becomes part of: training, evaluation and prediction each make a graph of their own.
//! Training continues from the newest whole checkpoint in the directory, if there is one.

mod canned;
mod config;
mod dnn;
mod dnn_linear_combined;
mod evaluate;
mod export;
mod heads;
mod hidden_layers;
mod input;
mod linear;
mod minimizer;
mod predict;
mod spec;
mod train;
mod train_and_evaluate;

pub use canned::{Headed, OnePart};
pub use config::{EVAL_DIR, Estimator};
pub use dnn::{DNNClassifier, DNNRegressor, Dnn};
pub use dnn_linear_combined::{DNNLinearCombinedClassifier, DNNLinearCombinedRegressor, DnnLinearCombined};
pub use evaluate::Evaluation;
pub use export::{FeatureSpec, ServingInput};
pub use heads::{Batch, Classifier, Head, Reduction, Regressor, Weighing};
pub use input::{Input, IntoInput};
pub use linear::{Linear, LinearClassifier, LinearRegressor};
pub use minimizer::Minimizer;
pub use predict::{Prediction, Predictions};
pub use spec::{EstimatorSpec, Mode, Model};
pub use train::Trained;
pub use train_and_evaluate::{EvalSpec, TrainSpec};

use thalweg_client::{Code, Error};

fn invalid(message: impl Into<String>) -> Error {
    Error::new(Code::InvalidArgument, Into::<String>::into(message))
}
