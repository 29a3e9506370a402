//! Common imports: `use thalweg::prelude::*;`.

pub use crate::data::{Column, CsvOptions, Dataset};
pub use crate::{
    Attr, Code, DataType, Error, Initializer, IntoTensor, Operation, Output, Outputs, PartialShape, Result,
    Reuse, RunOptions, SavedModel, Scope, Session, SessionOptions, Shape, Tensor, Variable, feed,
};

#[cfg(feature = "train")]
pub use crate::train::estimator::{
    DNNClassifier, DNNLinearCombinedClassifier, DNNLinearCombinedRegressor, DNNRegressor, Estimator,
    EstimatorSpec, Input, LinearClassifier, LinearRegressor, Mode,
};
#[cfg(feature = "train")]
pub use crate::train::feature_column::numeric_columns;
#[cfg(feature = "train")]
pub use crate::train::hooks::Every;
#[cfg(feature = "train")]
pub use crate::train::layers::{
    Activation, BatchNormalization, Conv2D, Dense, Embedding, LayerNormalization, Padding, average_pooling2d,
    dropout, flatten, max_pooling2d,
};
#[cfg(feature = "train")]
pub use crate::train::optimizers::{Adagrad, Adam, GradientDescent, Minimize, Momentum, RMSProp};
#[cfg(feature = "train")]
pub use crate::train::saver::Saver;
#[cfg(feature = "train")]
pub use crate::train::trainer::{Epoch, Fit, Trainer};
#[cfg(feature = "train")]
pub use crate::train::{get_or_create_global_step, initializers, losses, metrics};
