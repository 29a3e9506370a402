//! Feature columns of `train`, by their names in TensorFlow.

use crate::args;
use crate::errors::wrong_type;
use crate::functions::call;
use crate::initializers::{Initializer, Settings};
use crate::scope::Scope;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::panic::Location;
use thalweg_client as client;
use thalweg_client::{DataType, Output, Result};
use thalweg_train::feature_column::{
    self as train, CategoricalColumn, Column, DenseColumn, Features, Key, NumericColumn, Part, SparseTensor,
};

/// How a model uses a feature.
#[pyclass(frozen, module = "thalweg._engine")]
pub struct FeatureColumn {
    pub column: train::FeatureColumn,
    /// What buckets are made of.
    numeric: Option<NumericColumn>,
}

/// A categorical column inside of another.
struct Inner(train::FeatureColumn);

impl Column for Inner {
    fn name(&self) -> String {
        self.0.name()
    }

    fn scope(&self) -> String {
        self.0.scope()
    }

    fn place(&self) -> &'static Location<'static> {
        self.0.place()
    }

    fn as_dense(&self) -> Option<&dyn DenseColumn> {
        self.0.as_dense()
    }

    fn as_categorical(&self) -> Option<&dyn CategoricalColumn> {
        self.0.as_categorical()
    }
}

impl Inner {
    fn categorical(&self) -> Result<&dyn CategoricalColumn> {
        self.0.as_categorical().ok_or_else(|| {
            client::Error::new(
                client::Code::InvalidArgument,
                format!("'{}' is no categorical column", self.0.name()),
            )
        })
    }
}

impl CategoricalColumn for Inner {
    fn buckets(&self) -> Result<usize> {
        self.categorical()?.buckets()
    }

    fn ids(&self, g: &client::Scope, features: &Features) -> Result<SparseTensor> {
        self.categorical()?.ids(g, features)
    }

    fn weights(&self, g: &client::Scope, features: &Features, ids: &SparseTensor) -> Result<Option<Output>> {
        self.categorical()?.weights(g, features, ids)
    }

    fn parts(&self) -> Option<&[Part]> {
        self.0.as_categorical().and_then(|c| c.parts())
    }
}

/// A function of a tensor, of Python.
fn normalised(function: &Py<PyAny>, g: &client::Scope, x: &Output) -> Output {
    Python::attach(|py| {
        let root = py.import("thalweg._graphs")?.call_method0("get_default_graph")?.getattr("_root")?;
        let scope: Bound<'_, Scope> = root.cast_into()?;
        let wrapped = py.import("thalweg._control_flow")?.getattr("_listed")?.call1((function.bind(py),))?;
        let made = call(scope.get(), g, &wrapped, std::slice::from_ref(x))?;
        Ok(made.into_iter().next().unwrap_or_else(|| x.clone()))
    })
    .unwrap_or_else(|e: PyErr| {
        g.mistake(client::Error::new(client::Code::InvalidArgument, format!("normalizer_fn: {e}")));
        x.clone()
    })
}

/// An initializer of Python that outlives the call.
pub struct Kept(pub Py<Initializer>);

impl client::Initializer for Kept {
    fn build(&self, g: &client::Scope, dtype: DataType, dims: &[usize]) -> Output {
        self.0.get().0.build(g, dtype, dims)
    }

    fn name(&self) -> &'static str {
        self.0.get().0.name()
    }
}

pub fn combiner(name: &str) -> PyResult<train::Combiner> {
    match name {
        "mean" => Ok(train::Combiner::Mean),
        "sqrtn" => Ok(train::Combiner::SqrtN),
        "sum" => Ok(train::Combiner::Sum),
        other => Err(wrong_type(format!("combiner must be mean, sqrtn or sum, got '{other}'"))),
    }
}

#[pymethods]
impl FeatureColumn {
    /// By its name in TensorFlow, with the key of a feature or the columns that it is made of.
    #[new]
    fn new(
        kind: &str,
        key: String,
        sources: Vec<Bound<'_, PyAny>>,
        settings: &Bound<'_, PyDict>,
    ) -> PyResult<FeatureColumn> {
        let s = Settings(settings);
        let source = || -> PyResult<Inner> {
            let first = sources.first().ok_or_else(|| wrong_type(format!("{kind} needs a column")))?;
            Ok(Inner(first.cast::<FeatureColumn>()?.get().column.clone()))
        };
        let size = |name: &str| -> PyResult<usize> { s.get(name, 0) };
        let oov = s.get::<usize>("num_oov_buckets", 0)?;
        let default: Option<i64> = s.get("default_value", None)?;
        let column: train::FeatureColumn = match kind {
            "numeric" => {
                let mut column = train::numeric_column(&key).shape(&s.get::<Vec<usize>>("shape", vec![1])?);
                if let Some(function) = settings.get_item("normalizer_fn")?.filter(|f| !f.is_none()) {
                    let function = function.unbind();
                    column = column.normalizer(move |g, x| normalised(&function, g, x));
                }
                return Ok(FeatureColumn { column: column.clone().into(), numeric: Some(column) });
            }
            "bucketized" => {
                let first =
                    sources.first().ok_or_else(|| wrong_type("a bucketized column needs a numeric one"))?;
                let numeric = first.cast::<FeatureColumn>()?.get().numeric.clone();
                let numeric = numeric.ok_or_else(|| wrong_type("a bucketized column needs a numeric one"))?;
                train::bucketized_column(numeric, &s.get::<Vec<f32>>("boundaries", Vec::new())?).into()
            }
            "hash_bucket" => {
                train::categorical_column_with_hash_bucket(&key, size("hash_bucket_size")?).into()
            }
            "identity" => {
                let column = train::categorical_column_with_identity(&key, size("num_buckets")?);
                match default {
                    Some(id) => column.default_value(id).into(),
                    None => column.into(),
                }
            }
            "vocabulary_list" => {
                let given = settings.get_item("vocabulary_list")?;
                let given = given.ok_or_else(|| wrong_type("a vocabulary is needed"))?;
                let mut keys = Vec::new();
                for item in given.try_iter()? {
                    let item = item?;
                    keys.push(match item.extract::<i64>() {
                        Ok(number) => Key::Number(number),
                        Err(_) => match item.extract::<Vec<u8>>() {
                            Ok(bytes) => Key::Text(String::from_utf8_lossy(&bytes).into_owned()),
                            Err(_) => Key::Text(item.extract()?),
                        },
                    });
                }
                let column = train::categorical_column_with_vocabulary_list(&key, keys).num_oov_buckets(oov);
                match default {
                    Some(id) if id >= 0 => column.default_value(id).into(),
                    _ => column.into(),
                }
            }
            "vocabulary_file" => {
                let file: std::path::PathBuf = s.get("vocabulary_file", Default::default())?;
                let mut column =
                    train::categorical_column_with_vocabulary_file(&key, file).num_oov_buckets(oov);
                if let Some(lines) = s.get::<Option<usize>>("vocabulary_size", None)? {
                    column = column.vocabulary_size(lines);
                }
                match default {
                    Some(id) if id >= 0 => column.default_value(id).into(),
                    _ => column.into(),
                }
            }
            "indicator" => train::indicator_column(source()?).into(),
            "weighted" => train::weighted_categorical_column(source()?, &key).into(),
            "embedding" => {
                let mut column = train::embedding_column(source()?, size("dimension")?)
                    .combiner(combiner(&s.get("combiner", String::from("mean"))?)?);
                if let Some(initializer) = settings.get_item("initializer")?.filter(|i| !i.is_none()) {
                    column = column.initializer(Kept(initializer.cast::<Initializer>()?.clone().unbind()));
                }
                if !s.get("trainable", true)? {
                    column = column.not_trainable();
                }
                column.into()
            }
            "crossed" => {
                let features: Vec<String> = s.get("features", Vec::new())?;
                let mut column =
                    train::crossed_column(features.iter().map(String::as_str), size("hash_bucket_size")?);
                if let Some(key) = s.get::<Option<i64>>("hash_key", None)? {
                    column = column.hash_key(key);
                }
                for source in &sources {
                    column = column.with(Inner(source.cast::<FeatureColumn>()?.get().column.clone()));
                }
                column.into()
            }
            other => return Err(wrong_type(format!("no column '{other}'"))),
        };
        Ok(FeatureColumn { column, numeric: None })
    }

    #[getter]
    fn name(&self) -> String {
        self.column.name()
    }
}

/// Features by name.
pub fn features(given: &BTreeMap<String, Bound<'_, PyAny>>) -> PyResult<Features> {
    given.iter().try_fold(Features::new(), |all, (name, value)| Ok(all.with(name, &args::existing(value)?)))
}

pub fn columns(list: &[Bound<'_, FeatureColumn>]) -> Vec<train::FeatureColumn> {
    list.iter().map(|c| c.get().column.clone()).collect()
}

/// The features as these columns have them, side by side.
#[pyfunction]
fn input_layer(
    scope: &Bound<'_, Scope>,
    given: BTreeMap<String, Bound<'_, PyAny>>,
    list: Vec<Bound<'_, FeatureColumn>>,
) -> PyResult<Py<Tensor>> {
    let (py, scope, features) = (scope.py(), scope.get(), features(&given)?);
    let made = scope.try_build(py, |g| train::input_layer(g, &features, &columns(&list)));
    Tensor::new(py, made?, &scope.home)
}

/// The weighted sum of the columns, and a bias.
#[pyfunction]
fn linear_model(
    scope: &Bound<'_, Scope>,
    given: BTreeMap<String, Bound<'_, PyAny>>,
    list: Vec<Bound<'_, FeatureColumn>>,
    units: usize,
) -> PyResult<Py<Tensor>> {
    let (py, scope, features) = (scope.py(), scope.get(), features(&given)?);
    let made = scope.try_build(py, |g| train::linear_model(g, &features, &columns(&list), units));
    Tensor::new(py, made?, &scope.home)
}

pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<FeatureColumn>()?;
    m.add_function(wrap_pyfunction!(input_layer, m)?)?;
    m.add_function(wrap_pyfunction!(linear_model, m)?)
}
