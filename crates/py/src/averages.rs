//! `ExponentialMovingAverage` of `train`.

use crate::args;
use crate::home::Home;
use crate::operation::Operation;
use crate::scope::Scope;
use crate::variables::{self, Variable};
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use thalweg_train::averages as train;

/// Moving averages of variables.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct MovingAverage {
    averages: Mutex<train::ExponentialMovingAverage>,
    home: Home,
}

#[pymethods]
impl MovingAverage {
    #[new]
    #[pyo3(signature = (scope, decay, num_updates=None))]
    fn new(
        scope: &Bound<'_, Scope>,
        decay: f64,
        num_updates: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<MovingAverage> {
        let averages = train::ExponentialMovingAverage::new(decay);
        let averages = match num_updates.filter(|n| !n.is_none()) {
            Some(n) => averages.num_updates(&args::existing(n)?),
            None => averages,
        };
        Ok(MovingAverage { averages: Mutex::new(averages), home: scope.get().home.share(scope.py()) })
    }

    fn apply(&self, scope: &Bound<'_, Scope>, variables: Vec<Bound<'_, PyAny>>) -> PyResult<Py<Operation>> {
        let (py, scope) = (scope.py(), scope.get());
        let variables = variables.iter().map(variables::of).collect::<PyResult<Vec<_>>>()?;
        let made = scope.try_build(py, |g| {
            self.averages.lock().unwrap_or_else(PoisonError::into_inner).apply(g, &variables)
        })?;
        Operation::new(py, made, &scope.home)
    }

    fn average(&self, py: Python<'_>, v: &Bound<'_, PyAny>) -> PyResult<Option<Py<Variable>>> {
        let averages = self.averages.lock().unwrap_or_else(PoisonError::into_inner);
        let found = averages.average(&variables::of(v)?).cloned();
        found.map(|v| Variable::new(py, v, &self.home)).transpose()
    }

    fn average_name(&self, v: &Bound<'_, PyAny>) -> PyResult<String> {
        let averages = self.averages.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(averages.average_name(&variables::of(v)?))
    }

    fn variables_to_restore(&self, scope: &Bound<'_, Scope>) -> PyResult<Vec<(String, Py<Variable>)>> {
        let (py, scope) = (scope.py(), scope.get());
        let averages = self.averages.lock().unwrap_or_else(PoisonError::into_inner);
        let named = averages.variables_to_restore(&scope.scope).into_iter();
        named.map(|(name, v)| Ok((name, Variable::new(py, v, &scope.home)?))).collect()
    }
}
