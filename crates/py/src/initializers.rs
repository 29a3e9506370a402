//! Initial values of variables: those of `train`, tensors, values, and functions of Python.

use crate::args;
use crate::dtype;
use crate::errors::wrong_type;
use crate::home::Home;
use crate::scope::Scope;
use crate::values;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::cell::RefCell;
use thalweg_client as client;
use thalweg_client::{DataType, Output, PartialShape, Slice};
use thalweg_train::initializers as train;
use thalweg_train::initializers::{Distribution, FanMode};

type Boxed = Box<dyn client::Initializer + Send + Sync>;

/// An initializer of the engine.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct Initializer(pub Boxed);

/// Settings by name, with their defaults.
pub struct Settings<'a, 'py>(pub &'a Bound<'py, PyDict>);

impl<'py> Settings<'_, 'py> {
    pub fn get<T: FromPyObjectOwned<'py>>(&self, name: &str, default: T) -> PyResult<T> {
        match self.0.get_item(name)?.filter(|v| !v.is_none()) {
            Some(v) => v.extract().map_err(Into::into),
            None => Ok(default),
        }
    }

    pub fn number(&self, name: &str, default: f64) -> PyResult<f64> {
        self.get(name, default)
    }

    pub fn seed(&self) -> PyResult<Option<i64>> {
        match self.0.get_item("seed")?.filter(|v| !v.is_none()) {
            Some(v) => v.extract().map(Some),
            None => Ok(None),
        }
    }
}

#[pymethods]
impl Initializer {
    /// By its name in TensorFlow, with its settings.
    #[new]
    fn new(kind: &str, settings: &Bound<'_, PyDict>) -> PyResult<Initializer> {
        let s = Settings(settings);
        let seed = s.seed()?;
        Ok(Initializer(match kind {
            "zeros" => Box::new(train::Zeros),
            "ones" => Box::new(train::Ones),
            "constant" => Box::new(train::Constant(s.number("value", 0.0)?)),
            "random_uniform" => {
                let (low, high) = (s.number("minval", -0.05)?, s.number("maxval", 0.05)?);
                Box::new(train::RandomUniform { low, high, seed })
            }
            "random_normal" => {
                let (mean, stddev) = (s.number("mean", 0.0)?, s.number("stddev", 1.0)?);
                Box::new(train::RandomNormal { mean, stddev, seed })
            }
            "truncated_normal" => {
                let (mean, stddev) = (s.number("mean", 0.0)?, s.number("stddev", 1.0)?);
                Box::new(train::TruncatedNormal { mean, stddev, seed })
            }
            "variance_scaling" => {
                let mode = match s.get("mode", String::from("fan_in"))?.as_str() {
                    "fan_in" => FanMode::In,
                    "fan_out" => FanMode::Out,
                    "fan_avg" => FanMode::Average,
                    other => {
                        return Err(wrong_type(format!(
                            "mode must be fan_in, fan_out or fan_avg, got {other}"
                        )));
                    }
                };
                let distribution = match s.get("distribution", String::from("truncated_normal"))?.as_str() {
                    "truncated_normal" | "normal" => Distribution::TruncatedNormal,
                    "untruncated_normal" => Distribution::Normal,
                    "uniform" => Distribution::Uniform,
                    other => return Err(wrong_type(format!("no distribution '{other}'"))),
                };
                Box::new(train::VarianceScaling { scale: s.number("scale", 1.0)?, mode, distribution, seed })
            }
            "orthogonal" => Box::new(train::Orthogonal { gain: s.number("gain", 1.0)?, seed }),
            "identity" => Box::new(train::Identity { gain: s.number("gain", 1.0)? }),
            other => return Err(wrong_type(format!("no initializer '{other}'"))),
        }))
    }

    /// The initial value for a variable of this type and shape.
    fn build(
        &self,
        scope: &Bound<'_, Scope>,
        shape: &Bound<'_, PyAny>,
        dtype: &Bound<'_, PyAny>,
    ) -> PyResult<Py<crate::tensor::Tensor>> {
        let (py, dtype) = (scope.py(), dtype::from_python(dtype)?);
        let shape = crate::attrs::shape_of(shape)?;
        let dims: Vec<usize> =
            shape.dims().unwrap_or_default().iter().map(|d| usize::try_from(*d).unwrap_or(0)).collect();
        scope.get().tensor(py, |g| Ok(self.0.build(g, dtype, &dims)))
    }
}

/// What `get_variable` was given to initialise a variable with.
pub enum Chosen<'py> {
    Train(Bound<'py, Initializer>),
    Default(Boxed),
    /// A tensor of the graph.
    Tensor(Output),
    Value(client::Tensor),
    /// A function of shape and type.
    Function {
        function: Bound<'py, PyAny>,
        home: Home,
        failed: RefCell<Option<PyErr>>,
    },
}

impl<'py> Chosen<'py> {
    pub fn of(
        py: Python<'py>,
        scope: &Scope,
        given: Option<&Bound<'py, PyAny>>,
        dtype: Option<DataType>,
    ) -> PyResult<Chosen<'py>> {
        let Some(given) = given else {
            let dtype = dtype.unwrap_or(DataType::Float);
            return Ok(Chosen::Default(match dtype.is_float() || dtype.is_complex() {
                true => Box::new(train::glorot_uniform(None)),
                false => Box::new(train::Zeros),
            }));
        };
        if let Ok(initializer) = given.cast::<Initializer>() {
            return Ok(Chosen::Train(initializer.clone()));
        }
        if args::is_tensor(given) {
            return Ok(Chosen::Tensor(args::existing(given)?));
        }
        if !given.is_callable() {
            return Ok(Chosen::Value(values::tensor_of(given, dtype)?));
        }
        // A class of initializers stands for one with its defaults.
        let function =
            if given.is_instance_of::<pyo3::types::PyType>() { given.call0()? } else { given.clone() };
        if let Ok(engine) = function.getattr("_engine")
            && let Ok(initializer) = engine.cast::<Initializer>()
        {
            return Ok(Chosen::Train(initializer.clone()));
        }
        Ok(Chosen::Function { function, home: scope.home.share(py), failed: RefCell::default() })
    }

    pub fn dtype(&self) -> Option<DataType> {
        match self {
            Chosen::Tensor(t) => Some(t.dtype()),
            Chosen::Value(v) => Some(v.dtype()),
            _ => None,
        }
    }

    pub fn shape(&self) -> Option<PartialShape> {
        match self {
            Chosen::Tensor(t) => Some(t.shape()),
            Chosen::Value(v) => Some(v.shape().dims().iter().map(|d| *d as i64).collect()),
            _ => None,
        }
    }

    /// The exception of the function.
    pub fn failed(&self) -> Option<PyErr> {
        match self {
            Chosen::Function { failed, .. } => failed.take(),
            _ => None,
        }
    }
}

/// Calls a function of Python with a scope on top of its graph's stack, and returns what it returns as an output.
fn call(
    function: &Bound<'_, PyAny>,
    home: &Home,
    g: &client::Scope,
    dtype: DataType,
    dims: &[usize],
) -> PyResult<Output> {
    let py = function.py();
    let scope = Scope::of(py, g.clone(), home)?;
    let kwargs = PyDict::new(py);
    kwargs.set_item("dtype", dtype::object(py, dtype)?)?;
    let args = (PyTuple::new(py, dims)?,);
    let call = py.import("thalweg._graphs")?.getattr("_call_in")?;
    let made = call.call1((scope, function, args, kwargs))?;
    args::output_of(g, &made, Some(dtype), "initial_value")
}

impl client::Initializer for Chosen<'_> {
    fn build(&self, g: &client::Scope, dtype: DataType, dims: &[usize]) -> Output {
        match self {
            Chosen::Train(initializer) => initializer.get().0.build(g, dtype, dims),
            Chosen::Default(initializer) => initializer.build(g, dtype, dims),
            Chosen::Tensor(t) => t.clone(),
            Chosen::Value(v) => g.constant(v),
            Chosen::Function { function, home, failed } => match call(function, home, g, dtype, dims) {
                Ok(output) => output,
                Err(e) => {
                    failed.replace(Some(e));
                    g.zeros(dtype, dims)
                }
            },
        }
    }

    fn build_part(&self, g: &client::Scope, dtype: DataType, part: &Slice) -> Output {
        match self {
            Chosen::Train(initializer) => initializer.get().0.build_part(g, dtype, part),
            Chosen::Default(initializer) => initializer.build_part(g, dtype, part),
            _ => self.build(g, dtype, &part.dims),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Chosen::Train(initializer) => initializer.get().0.name(),
            Chosen::Default(initializer) => initializer.name(),
            _ => "Const",
        }
    }
}
