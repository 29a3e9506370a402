//! Settings that the canned estimators share.

use super::config::Estimator;
use super::heads::{Classifier, Head, Reduction, Regressor};
use super::minimizer::Minimizer;
use crate::feature_column::FeatureColumn;
use crate::optimizers::Optimizer;
use std::panic::Location;
use thalweg_client::Scope;

/// A model that ends in a head.
pub trait Headed {
    /// The kind of head.
    type Head: Head;

    /// The head, for settings of the estimator.
    fn head(&mut self) -> &mut Self::Head;
}

/// A model with one set of columns and one optimizer.
pub trait OnePart {
    /// Its columns.
    fn columns(&mut self) -> &mut Vec<FeatureColumn>;

    /// None for the default optimizer.
    fn minimizer(&mut self) -> &mut Option<Minimizer>;
}

impl<M: Headed> Estimator<M> {
    /// Whether the loss of a batch is the sum over its examples (the default) or the mean.
    pub fn loss_reduction(mut self, reduction: Reduction) -> Self {
        self.model.head().weighing().reduction = reduction;
        self
    }

    /// The feature with the weight of each example, in the loss and in the metrics.
    #[track_caller]
    pub fn weight_column(mut self, feature: &str) -> Self {
        self.model.head().weighing().column = Some((feature.to_string(), Location::caller()));
        self
    }
}

impl<M: Headed<Head = Classifier>> Estimator<M> {
    /// Labels are these strings instead of numbers.
    pub fn label_vocabulary<'a>(mut self, labels: impl IntoIterator<Item = &'a str>) -> Self {
        self.model.head().vocabulary = labels.into_iter().map(str::to_string).collect();
        self
    }
}

impl<M: Headed<Head = Regressor>> Estimator<M> {
    /// The size of an example's label.
    pub fn label_dimension(mut self, dimension: usize) -> Self {
        self.model.head().dimension = dimension;
        self
    }
}

impl<M: OnePart> Estimator<M> {
    /// The feature columns of the model; one more with [`Estimator::column`].
    pub fn columns(mut self, columns: impl IntoIterator<Item = FeatureColumn>) -> Self {
        self.model.columns().extend(columns);
        self
    }

    /// One more column.
    pub fn column(mut self, column: impl Into<FeatureColumn>) -> Self {
        self.model.columns().push(column.into());
        self
    }

    /// The optimizer that trains the model.
    pub fn optimizer(mut self, optimizer: impl Optimizer + 'static) -> Self {
        *self.model.minimizer() = Some(Minimizer::of(optimizer));
        self
    }

    /// Builds the optimizer on the training graph: for learning rates that are nodes.
    pub fn optimizer_fn<O: Optimizer + 'static>(mut self, make: impl Fn(&Scope) -> O + 'static) -> Self {
        *self.model.minimizer() = Some(Minimizer::made_by(make));
        self
    }
}
