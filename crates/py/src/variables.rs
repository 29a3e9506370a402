//! `Variable`: state of a graph. Its methods that make nodes are added by the package (`_variables.py`).

use crate::args;
use crate::attrs::{shape_of, sizes};
use crate::dtype::{self, DType};
use crate::eager::{self, EagerVariable};
use crate::errors::wrong_type;
use crate::home::Home;
use crate::initializers::Chosen;
use crate::operation::Operation;
use crate::scope::Scope;
use crate::tensor::Tensor;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pyclass::{PyTraverseError, PyVisit};
use thalweg_client as client;
use thalweg_client::{DataType, VariableOptions};

/// What `isinstance(v, tf.Variable)` asks for. The package makes `tf.Variable(..)` a variable of the graph, or one with a value.
#[pyclass(frozen, weakref, dict, subclass, module = "thalweg", name = "Variable")]
pub struct AnyVariable;

/// A tensor whose value outlives a step.
#[pyclass(frozen, extends = AnyVariable, module = "thalweg", name = "GraphVariable")]
pub struct Variable {
    pub variable: client::Variable,
    pub home: Home,
}

impl Variable {
    pub fn new(py: Python<'_>, variable: client::Variable, home: &Home) -> PyResult<Py<Variable>> {
        Py::new(py, (Variable { variable, home: home.share(py) }, AnyVariable))
    }

    fn key(&self) -> u64 {
        self.variable.handle.id().map_or(u64::MAX, |id| id.node.at() as u64)
    }
}

/// A variable with an initial value, under a full name that no other node has; a local one is not among the graph's variables.
pub fn new(
    scope: &Scope,
    py: Python<'_>,
    initial: &Bound<'_, PyAny>,
    name: &str,
    trainable: bool,
    local: bool,
) -> PyResult<Py<Variable>> {
    let initial = args::existing(initial)?;
    let made = scope.build(py, |g| {
        // The name is that of a name scope, and used as it is.
        let g = g.name_scope_again(name);
        Ok(match (local, trainable) {
            (true, _) => g.local_variable("", &initial),
            (false, true) => g.variable("", &initial),
            (false, false) => g.state_variable("", &initial),
        })
    })?;
    Variable::new(py, made, &scope.home)
}

/// The variable of that name in the variable scope, created or shared.
pub fn get(
    scope: &Scope,
    py: Python<'_>,
    name: &str,
    shape: Option<&Bound<'_, PyAny>>,
    dtype: Option<&Bound<'_, PyAny>>,
    initializer: Option<&Bound<'_, PyAny>>,
    trainable: bool,
) -> PyResult<Py<Variable>> {
    let given = dtype.filter(|d| !d.is_none()).map(dtype::from_python).transpose()?;
    let initializer = initializer.filter(|i| !i.is_none());
    let shape = shape.filter(|s| !s.is_none()).map(shape_of).transpose()?;
    let chosen = Chosen::of(py, scope, initializer, given)?;
    let dtype = given.or(chosen.dtype()).unwrap_or(DataType::Float);
    let shape = match shape.or_else(|| chosen.shape()) {
        Some(shape) => shape,
        None => {
            let text =
                "Shape of a new variable must be fully defined, but no shape and no initial value is given.";
            return Err(PyValueError::new_err(format!("{text} (variable '{name}')")));
        }
    };
    let dims: Option<Vec<usize>> =
        shape.dims().and_then(|dims| dims.iter().map(|d| usize::try_from(*d).ok()).collect());
    let Some(dims) = dims else {
        let text = format!(
            "Shape of a new variable ({name}) must be fully defined, but instead was {}.",
            shape.python()
        );
        return Err(PyValueError::new_err(text));
    };
    let options = VariableOptions { dtype, trainable };
    let made = scope.build(py, |g| {
        let made = g.get_variable_with(name, &dims, &chosen, options);
        chosen.failed().map_or(Ok(made), Err)
    })?;
    Variable::new(py, made, &scope.home)
}

/// The variable that an object is.
pub fn of(obj: &Bound<'_, PyAny>) -> PyResult<client::Variable> {
    if obj.is_instance_of::<EagerVariable>() {
        return of(&eager::in_graph(obj)?);
    }
    match obj.cast::<Variable>() {
        Ok(v) => Ok(v.get().variable.clone()),
        Err(_) => Err(wrong_type(format!("needs a variable, got {obj}"))),
    }
}

/// The graph's global step, made if missing and asked for.
#[pyfunction]
pub fn global_step(scope: &Bound<'_, Scope>, create: bool) -> PyResult<Option<Py<Variable>>> {
    let (py, scope) = (scope.py(), scope.get());
    let found = match create {
        true => Some(scope.build(py, |g| Ok(thalweg_train::get_or_create_global_step(g)))?),
        false => thalweg_train::get_global_step(&scope.scope),
    };
    found.map(|v| Variable::new(py, v, &scope.home)).transpose()
}

#[pymethods]
impl Variable {
    #[getter]
    fn name(&self) -> String {
        format!("{}:0", self.variable.name())
    }

    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<DType>> {
        dtype::object(py, self.variable.dtype())
    }

    #[getter]
    fn _dims(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        sizes(py, &self.variable.shape())
    }

    #[getter]
    fn handle(&self, py: Python<'_>) -> PyResult<Py<Tensor>> {
        Tensor::new(py, self.variable.handle.clone(), &self.home)
    }

    /// The tensor that a session fetches for the variable.
    #[getter]
    fn _graph_element(&self, py: Python<'_>) -> PyResult<Py<Tensor>> {
        Tensor::new(py, self.variable.value.clone(), &self.home)
    }

    #[getter]
    fn initializer(&self, py: Python<'_>) -> PyResult<Py<Operation>> {
        Operation::new(py, self.variable.init.clone(), &self.home)
    }

    #[getter]
    fn initial_value(&self, py: Python<'_>) -> PyResult<Py<Tensor>> {
        Tensor::new(py, self.variable.initial.clone(), &self.home)
    }

    #[getter]
    fn op(&self, py: Python<'_>) -> PyResult<Py<Operation>> {
        Operation::new(py, self.variable.handle.op(), &self.home)
    }

    #[getter]
    fn graph(&self, py: Python<'_>) -> Py<PyAny> {
        self.home.graph.clone_ref(py)
    }

    #[getter]
    fn device(&self) -> String {
        self.variable.handle.op().device()
    }

    #[getter]
    fn trainable(&self) -> bool {
        self.variable.trainable
    }

    fn __hash__(&self) -> u64 {
        self.key()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Variable>().is_ok_and(|other| {
            let other = &other.get().variable;
            self.variable.handle.id() == other.handle.id()
                && self.variable.handle.scope().shares_graph_with(other.handle.scope())
        })
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(wrong_type(
            "Using a `tf.Variable` as a Python `bool` is not allowed: it has no value until a session runs it.",
        ))
    }

    fn __repr__(&self) -> String {
        format!(
            "<tf.Variable '{}' shape={} dtype={}>",
            self.name(),
            self.variable.shape().python(),
            self.variable.dtype().python_name()
        )
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.home.graph)
    }
}
