//! Optimizers of `train` by their names in TensorFlow.

use crate::args;
use crate::errors::wrong_type;
use crate::gradients;
use crate::initializers::Settings;
use crate::operation::Operation;
use crate::scope::Scope;
use crate::variables::{self, Variable};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg_train::optimizers::{self as train, GradientOf, Minimize, Setting};

/// An update rule with its settings.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct Optimizer(pub Box<dyn train::Optimizer + Send + Sync>);

impl Settings<'_, '_> {
    /// A number, or a scalar tensor.
    fn setting(&self, name: &str, default: f64) -> PyResult<Setting> {
        match self.0.get_item(name)?.filter(|v| !v.is_none()) {
            None => Ok(Setting::Number(default)),
            Some(v) if args::is_tensor(&v) => Ok(Setting::Tensor(args::existing(&v)?)),
            Some(v) => match v.extract() {
                Ok(number) => Ok(Setting::Number(number)),
                Err(_) if v.is_callable() => self::number_or_tensor(&v.call0()?),
                Err(e) => Err(e),
            },
        }
    }
}

fn number_or_tensor(v: &Bound<'_, PyAny>) -> PyResult<Setting> {
    if args::is_tensor(v) {
        Ok(Setting::Tensor(args::existing(v)?))
    } else {
        Ok(Setting::Number(v.extract()?))
    }
}

#[pymethods]
impl Optimizer {
    /// `kind` is TensorFlow's name without "Optimizer".
    #[new]
    fn new(kind: &str, settings: &Bound<'_, PyDict>) -> PyResult<Optimizer> {
        let s = Settings(settings);
        let rate = s.setting("learning_rate", 0.001)?;
        Ok(Optimizer(match kind {
            "GradientDescent" => Box::new(train::GradientDescent::new(rate)),
            "Momentum" => {
                let made = train::Momentum::new(rate, s.setting("momentum", 0.0)?);
                Box::new(if s.get("use_nesterov", false)? { made.nesterov() } else { made })
            }
            "Adagrad" => Box::new(
                train::Adagrad::new(rate).initial_accumulator(s.number("initial_accumulator_value", 0.1)?),
            ),
            "AdagradDA" => {
                let step = settings.get_item("global_step")?;
                let step = variables::of(&step.ok_or_else(|| wrong_type("AdagradDA needs a global_step"))?)?;
                let (l1, l2) = (
                    s.number("l1_regularization_strength", 0.0)?,
                    s.number("l2_regularization_strength", 0.0)?,
                );
                let made = train::AdagradDA::new(rate, &step).regularization(l1, l2);
                Box::new(
                    made.initial_accumulator(s.number("initial_gradient_squared_accumulator_value", 0.1)?),
                )
            }
            "Adadelta" => Box::new(
                train::Adadelta::new(rate).rho(s.setting("rho", 0.95)?).epsilon(s.setting("epsilon", 1e-8)?),
            ),
            "Adam" => Box::new(
                train::Adam::new(rate)
                    .betas(s.number("beta1", 0.9)?, s.number("beta2", 0.999)?)
                    .epsilon(s.number("epsilon", 1e-8)?),
            ),
            "AdaMax" => Box::new(
                train::AdaMax::new(rate)
                    .betas(s.number("beta1", 0.9)?, s.number("beta2", 0.999)?)
                    .epsilon(s.number("epsilon", 1e-8)?),
            ),
            "RMSProp" => {
                let made = train::RMSProp::new(rate)
                    .decay(s.setting("decay", 0.9)?)
                    .momentum(s.setting("momentum", 0.0)?)
                    .epsilon(s.setting("epsilon", 1e-10)?);
                Box::new(if s.get("centered", false)? { made.centered() } else { made })
            }
            "Ftrl" => Box::new(
                train::Ftrl::new(rate)
                    .learning_rate_power(s.number("learning_rate_power", -0.5)?)
                    .initial_accumulator(s.number("initial_accumulator_value", 0.1)?)
                    .regularization(
                        s.number("l1_regularization_strength", 0.0)?,
                        s.number("l2_regularization_strength", 0.0)?,
                    )
                    .l2_shrinkage(s.number("l2_shrinkage_regularization_strength", 0.0)?)
                    .beta(s.number("beta", 0.0)?),
            ),
            "ProximalAdagrad" => Box::new(
                train::ProximalAdagrad::new(rate)
                    .regularization(
                        s.setting("l1_regularization_strength", 0.0)?,
                        s.setting("l2_regularization_strength", 0.0)?,
                    )
                    .initial_accumulator(s.number("initial_accumulator_value", 0.1)?),
            ),
            "ProximalGradientDescent" => Box::new(train::ProximalGradientDescent::new(rate).regularization(
                s.setting("l1_regularization_strength", 0.0)?,
                s.setting("l2_regularization_strength", 0.0)?,
            )),
            other => return Err(wrong_type(format!("no optimizer '{other}'"))),
        }))
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.0.name()
    }

    /// The gradients of the loss with respect to these variables, or to all trainable ones, each with its variable.
    #[pyo3(signature = (scope, loss, var_list=None))]
    fn compute_gradients(
        &self,
        scope: &Bound<'_, Scope>,
        loss: &Bound<'_, PyAny>,
        var_list: Option<Vec<Bound<'_, PyAny>>>,
    ) -> PyResult<Vec<(Py<PyAny>, Py<Variable>)>> {
        let (py, scope) = (scope.py(), scope.get());
        let loss = args::existing(loss)?;
        let variables = match var_list {
            Some(list) => list.iter().map(variables::of).collect::<PyResult<_>>()?,
            None => scope.scope.trainable_variables(),
        };
        let found = scope.try_build(py, |g| self.0.compute_gradients_of(g, &loss, variables))?;
        let pair = |x: GradientOf| {
            let gradient = gradients::to_python(py, &scope.home, x.gradient)?;
            Ok((gradient, Variable::new(py, x.variable, &scope.home)?))
        };
        found.into_iter().map(pair).collect()
    }

    /// The operation that applies gradients to their variables.
    #[pyo3(signature = (scope, pairs, global_step=None))]
    fn apply_gradients(
        &self,
        scope: &Bound<'_, Scope>,
        pairs: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        global_step: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<Operation>> {
        let (py, scope) = (scope.py(), scope.get());
        let pair = |(gradient, variable): &(Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            Ok(GradientOf { gradient: gradients::from_python(gradient)?, variable: variables::of(variable)? })
        };
        let pairs: Vec<GradientOf> = pairs.iter().map(pair).collect::<PyResult<_>>()?;
        let step = global_step.filter(|s| !s.is_none()).map(variables::of).transpose()?;
        let made = scope.try_build(py, |g| self.0.apply_gradients(g, &pairs, step.as_ref()))?;
        Operation::new(py, made, &scope.home)
    }
}
