"""Estimators: models that train, evaluate and predict, with checkpoints in a directory. The engine runs them."""

from .canned import (DNNClassifier, DNNLinearCombinedClassifier, DNNLinearCombinedRegressor, DNNRegressor, LinearClassifier, LinearRegressor)
from .estimator import Estimator, EstimatorSpec, EvalSpec, ModeKeys, RunConfig, TrainSpec, train_and_evaluate
from . import export, inputs
