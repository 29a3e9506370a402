//! Layers of `train`, as functions of a scope and an input.

use crate::args;
use crate::errors::wrong_type;
use crate::initializers::{Chosen, Settings};
use crate::scope::Scope;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use thalweg_client as client;
use thalweg_client::Output;
use thalweg_train::layers::{
    self as train, Activation, BatchNormalization, Conv2D, Conv2DTranspose, Dense, Embedding,
    LayerNormalization, Padding, SeparableConv2D,
};

pub fn activation(name: &str) -> PyResult<Activation> {
    Ok(match name {
        "" => Activation::Linear,
        "Relu" => Activation::Relu,
        "Relu6" => Activation::Relu6,
        "LeakyRelu" => Activation::LeakyRelu,
        "Elu" => Activation::Elu,
        "Selu" => Activation::Selu,
        "Softplus" => Activation::Softplus,
        "Softsign" => Activation::Softsign,
        "Sigmoid" => Activation::Sigmoid,
        "Tanh" => Activation::Tanh,
        "Softmax" => Activation::Softmax,
        other => return Err(wrong_type(format!("no activation '{other}'"))),
    })
}

fn padding(name: &str) -> PyResult<Padding> {
    match name.to_ascii_lowercase().as_str() {
        "valid" => Ok(Padding::Valid),
        "same" => Ok(Padding::Same),
        other => Err(wrong_type(format!("padding must be 'valid' or 'same', got '{other}'"))),
    }
}

/// The kernel's and the bias's initializer.
struct Initializers<'py> {
    kernel: Option<Chosen<'py>>,
    bias: Option<Chosen<'py>>,
}

impl<'py> Initializers<'py> {
    fn of(py: Python<'py>, scope: &Scope, settings: &Bound<'py, PyDict>) -> PyResult<Initializers<'py>> {
        let chosen = |name: &str| {
            let given = settings.get_item(name)?.filter(|i| !i.is_none());
            given.map(|i| Chosen::of(py, scope, Some(&i), None)).transpose()
        };
        Ok(Initializers { kernel: chosen("kernel_initializer")?, bias: chosen("bias_initializer")? })
    }

    fn failed(&self) -> Option<PyErr> {
        [&self.kernel, &self.bias].into_iter().flatten().find_map(Chosen::failed)
    }
}

/// Applies a layer.
fn applied(
    scope: &Bound<'_, Scope>,
    x: &Bound<'_, PyAny>,
    apply: impl FnOnce(&client::Scope, &Output) -> PyResult<Output>,
) -> PyResult<Py<Tensor>> {
    scope.get().tensor(scope.py(), |g| {
        let x = args::output_of(g, x, None, "inputs")?;
        apply(g, &x)
    })
}

#[pyfunction]
fn dense(
    scope: &Bound<'_, Scope>,
    x: &Bound<'_, PyAny>,
    units: usize,
    settings: &Bound<'_, PyDict>,
) -> PyResult<Py<Tensor>> {
    let s = Settings(settings);
    let initializers = Initializers::of(scope.py(), scope.get(), settings)?;
    let name: String = s.get("name", String::new())?;
    let mut layer = Dense::new(units).activation(activation(&s.get("activation", String::new())?)?);
    layer = layer.trainable(s.get("trainable", true)?);
    if !s.get("use_bias", true)? {
        layer = layer.without_bias();
    }
    if let Some(kernel) = &initializers.kernel {
        layer = layer.kernel_initializer(kernel);
    }
    if let Some(bias) = &initializers.bias {
        layer = layer.bias_initializer(bias);
    }
    if !name.is_empty() {
        layer = layer.name(&name);
    }
    applied(scope, x, |g, x| {
        let y = layer.apply(g, x);
        initializers.failed().map_or(Ok(y), Err)
    })
}

#[pyfunction]
fn conv2d(
    scope: &Bound<'_, Scope>,
    x: &Bound<'_, PyAny>,
    filters: usize,
    kernel: [usize; 2],
    settings: &Bound<'_, PyDict>,
) -> PyResult<Py<Tensor>> {
    let s = Settings(settings);
    let initializers = Initializers::of(scope.py(), scope.get(), settings)?;
    let name: String = s.get("name", String::new())?;
    let mut layer = Conv2D::new(filters, kernel)
        .trainable(s.get("trainable", true)?)
        .strides(s.get("strides", [1, 1])?)
        .padding(padding(&s.get("padding", String::from("valid"))?)?)
        .activation(activation(&s.get("activation", String::new())?)?);
    if !s.get("use_bias", true)? {
        layer = layer.without_bias();
    }
    if let Some(kernel) = &initializers.kernel {
        layer = layer.kernel_initializer(kernel);
    }
    if let Some(bias) = &initializers.bias {
        layer = layer.bias_initializer(bias);
    }
    if !name.is_empty() {
        layer = layer.name(&name);
    }
    applied(scope, x, |g, x| {
        let y = layer.apply(g, x);
        initializers.failed().map_or(Ok(y), Err)
    })
}

#[pyfunction]
fn separable_conv2d(
    scope: &Bound<'_, Scope>,
    x: &Bound<'_, PyAny>,
    filters: usize,
    kernel: [usize; 2],
    settings: &Bound<'_, PyDict>,
) -> PyResult<Py<Tensor>> {
    let (py, s) = (scope.py(), Settings(settings));
    let chosen = |name: &str| {
        let given = settings.get_item(name)?.filter(|i| !i.is_none());
        given.map(|i| Chosen::of(py, scope.get(), Some(&i), None)).transpose()
    };
    let (depthwise, pointwise) = (chosen("depthwise_initializer")?, chosen("pointwise_initializer")?);
    let name: String = s.get("name", String::new())?;
    let mut layer = SeparableConv2D::new(filters, kernel)
        .strides(s.get("strides", [1, 1])?)
        .padding(padding(&s.get("padding", String::from("valid"))?)?)
        .depth_multiplier(s.get("depth_multiplier", 1)?)
        .activation(activation(&s.get("activation", String::new())?)?)
        .initializers(
            depthwise.as_ref().map(|i| i as &dyn client::Initializer),
            pointwise.as_ref().map(|i| i as &dyn client::Initializer),
        );
    if !s.get("use_bias", true)? {
        layer = layer.without_bias();
    }
    if !name.is_empty() {
        layer = layer.name(&name);
    }
    applied(scope, x, |g, x| {
        let y = layer.apply(g, x);
        [&depthwise, &pointwise].into_iter().flatten().find_map(Chosen::failed).map_or(Ok(y), Err)
    })
}

#[pyfunction]
fn conv2d_transpose(
    scope: &Bound<'_, Scope>,
    x: &Bound<'_, PyAny>,
    filters: usize,
    kernel: [usize; 2],
    settings: &Bound<'_, PyDict>,
) -> PyResult<Py<Tensor>> {
    let s = Settings(settings);
    let initializers = Initializers::of(scope.py(), scope.get(), settings)?;
    let name: String = s.get("name", String::new())?;
    let mut layer = Conv2DTranspose::new(filters, kernel)
        .strides(s.get("strides", [1, 1])?)
        .padding(padding(&s.get("padding", String::from("valid"))?)?)
        .activation(activation(&s.get("activation", String::new())?)?);
    if !s.get("use_bias", true)? {
        layer = layer.without_bias();
    }
    if let Some(kernel) = &initializers.kernel {
        layer = layer.kernel_initializer(kernel);
    }
    if let Some(bias) = &initializers.bias {
        layer = layer.bias_initializer(bias);
    }
    if !name.is_empty() {
        layer = layer.name(&name);
    }
    applied(scope, x, |g, x| {
        let y = layer.apply(g, x);
        initializers.failed().map_or(Ok(y), Err)
    })
}

#[pyfunction]
fn pooling2d(
    scope: &Bound<'_, Scope>,
    x: &Bound<'_, PyAny>,
    kind: &str,
    size: [i64; 2],
    strides: [i64; 2],
    pad: &str,
) -> PyResult<Py<Tensor>> {
    let pad = padding(pad)?;
    let pool = match kind {
        "max" => train::max_pooling2d,
        "average" => train::average_pooling2d,
        other => return Err(wrong_type(format!("no pooling '{other}'"))),
    };
    applied(scope, x, |g, x| Ok(pool(g, x, size, strides, pad)))
}

#[pyfunction]
#[pyo3(signature = (scope, x, rate, seed=None))]
fn dropout(
    scope: &Bound<'_, Scope>,
    x: &Bound<'_, PyAny>,
    rate: f64,
    seed: Option<i64>,
) -> PyResult<Py<Tensor>> {
    applied(scope, x, |g, x| Ok(train::dropout(g, x, rate, true, seed)))
}

#[pyfunction]
fn flatten(scope: &Bound<'_, Scope>, x: &Bound<'_, PyAny>) -> PyResult<Py<Tensor>> {
    applied(scope, x, |g, x| Ok(train::flatten(g, x)))
}

#[pyfunction]
fn batch_normalization(
    scope: &Bound<'_, Scope>,
    x: &Bound<'_, PyAny>,
    training: &Bound<'_, PyAny>,
    settings: &Bound<'_, PyDict>,
) -> PyResult<Py<Tensor>> {
    let s = Settings(settings);
    let name: String = s.get("name", String::new())?;
    let mut layer =
        BatchNormalization::new().momentum(s.number("momentum", 0.99)?).epsilon(s.number("epsilon", 1e-3)?);
    if !name.is_empty() {
        layer = layer.name(&name);
    }
    applied(scope, x, |g, x| {
        Ok(match args::is_tensor(training) {
            true => layer.apply_when(g, x, &args::existing(training)?),
            false => layer.apply(g, x, training.is_truthy()?),
        })
    })
}

#[pyfunction]
fn layer_normalization(scope: &Bound<'_, Scope>, x: &Bound<'_, PyAny>, epsilon: f64) -> PyResult<Py<Tensor>> {
    applied(scope, x, |g, x| Ok(LayerNormalization::new().epsilon(epsilon).apply(g, x)))
}

#[pyfunction]
fn embedding(
    scope: &Bound<'_, Scope>,
    ids: &Bound<'_, PyAny>,
    rows: usize,
    size: usize,
) -> PyResult<Py<Tensor>> {
    applied(scope, ids, |g, ids| Ok(Embedding::new(rows, size).apply(g, ids)))
}

pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let layers = PyModule::new(m.py(), "layers")?;
    layers.add_function(wrap_pyfunction!(dense, &layers)?)?;
    layers.add_function(wrap_pyfunction!(conv2d, &layers)?)?;
    layers.add_function(wrap_pyfunction!(separable_conv2d, &layers)?)?;
    layers.add_function(wrap_pyfunction!(conv2d_transpose, &layers)?)?;
    layers.add_function(wrap_pyfunction!(pooling2d, &layers)?)?;
    layers.add_function(wrap_pyfunction!(dropout, &layers)?)?;
    layers.add_function(wrap_pyfunction!(flatten, &layers)?)?;
    layers.add_function(wrap_pyfunction!(batch_normalization, &layers)?)?;
    layers.add_function(wrap_pyfunction!(layer_normalization, &layers)?)?;
    layers.add_function(wrap_pyfunction!(embedding, &layers)?)?;
    m.add_submodule(&layers)
}
