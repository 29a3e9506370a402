//! Gradients, and what is done with them before they are applied.

use crate::args;
use crate::eager::{self, EagerVariable};
use crate::home::Home;
use crate::scope::Scope;
use crate::tensor::Tensor;
use crate::variables::Variable;
use pyo3::prelude::*;
use thalweg_client as client;
use thalweg_client::{Gradient, GradientOptions, IndexedSlices, Output};
use thalweg_train::clip;

/// What gradients are taken of: a tensor, or the handle of a variable.
fn source(obj: &Bound<'_, PyAny>) -> PyResult<Output> {
    if obj.is_instance_of::<EagerVariable>() {
        return source(&eager::in_graph(obj)?);
    }
    match obj.cast::<Variable>() {
        Ok(v) => Ok(v.get().variable.handle.clone()),
        Err(_) => args::existing(obj),
    }
}

pub fn to_python(py: Python<'_>, home: &Home, gradient: Gradient) -> PyResult<Py<PyAny>> {
    Ok(match gradient {
        Gradient::None => py.None(),
        Gradient::Dense(o) => Tensor::new(py, o, home)?.into_any(),
        Gradient::Slices(s) => {
            let [values, indices, shape] =
                [s.values, s.indices, s.dense_shape].map(|o| Tensor::new(py, o, home));
            py.import("thalweg._slices")?
                .getattr("IndexedSlices")?
                .call1((values?, indices?, shape?))?
                .unbind()
        }
    })
}

pub fn from_python(obj: &Bound<'_, PyAny>) -> PyResult<Gradient> {
    if obj.is_none() {
        return Ok(Gradient::None);
    }
    if let (Ok(values), Ok(indices), Ok(shape)) =
        (obj.getattr("values"), obj.getattr("indices"), obj.getattr("dense_shape"))
    {
        let slices = IndexedSlices {
            values: args::existing(&values)?,
            indices: args::existing(&indices)?,
            dense_shape: args::existing(&shape)?,
        };
        return Ok(Gradient::Slices(slices));
    }
    args::existing(obj).map(Gradient::Dense)
}

fn outputs(
    list: &[Bound<'_, PyAny>],
    take: fn(&Bound<'_, PyAny>) -> PyResult<Output>,
) -> PyResult<Vec<Output>> {
    list.iter().map(take).collect()
}

fn refs(outputs: &[Output]) -> Vec<&Output> {
    outputs.iter().collect()
}

/// The gradients of the sum of `ys` with respect to each of `xs`: a tensor, rows, or None.
#[pyfunction]
#[pyo3(signature = (scope, ys, xs, grad_ys=vec![], stop_gradients=vec![]))]
fn gradients(
    scope: &Bound<'_, Scope>,
    ys: Vec<Bound<'_, PyAny>>,
    xs: Vec<Bound<'_, PyAny>>,
    grad_ys: Vec<Bound<'_, PyAny>>,
    stop_gradients: Vec<Bound<'_, PyAny>>,
) -> PyResult<Vec<Py<PyAny>>> {
    let (py, scope) = (scope.py(), scope.get());
    let (ys, xs) = (outputs(&ys, args::existing)?, outputs(&xs, source)?);
    let (grad_ys, stop) = (outputs(&grad_ys, args::existing)?, outputs(&stop_gradients, source)?);
    let found = scope.build(py, |g| {
        let options = GradientOptions { grad_ys: &refs(&grad_ys), stop_gradients: &refs(&stop) };
        Ok(g.gradients_with(&refs(&ys), &refs(&xs), &options))
    })?;
    found.into_iter().map(|g| to_python(py, &scope.home, g)).collect()
}

/// The gradients scaled together to this norm, and their norm before.
#[pyfunction]
fn clip_by_global_norm(
    scope: &Bound<'_, Scope>,
    gradients: Vec<Bound<'_, PyAny>>,
    norm: f64,
) -> PyResult<(Vec<Py<PyAny>>, Py<Tensor>)> {
    let (py, scope) = (scope.py(), scope.get());
    let given: Vec<Gradient> = gradients.iter().map(from_python).collect::<PyResult<_>>()?;
    let (clipped, before) = scope.build(py, |g| Ok(clip::clip_by_global_norm(g, &given, norm)))?;
    let clipped = clipped.into_iter().map(|g| to_python(py, &scope.home, g)).collect::<PyResult<_>>()?;
    Ok((clipped, Tensor::new(py, before, &scope.home)?))
}

#[pyfunction]
fn global_norm(scope: &Bound<'_, Scope>, gradients: Vec<Bound<'_, PyAny>>) -> PyResult<Py<Tensor>> {
    let given: Vec<Gradient> = gradients.iter().map(from_python).collect::<PyResult<_>>()?;
    scope.get().tensor(scope.py(), |g| Ok(clip::global_norm(g, &given)))
}

/// A function of `train` on one tensor and a number.
fn clipped(
    scope: &Bound<'_, Scope>,
    x: &Bound<'_, PyAny>,
    clip: impl FnOnce(&client::Scope, &Output) -> Output,
) -> PyResult<Py<Tensor>> {
    scope.get().tensor(scope.py(), |g| {
        let x = args::output_of(g, x, None, "x")?;
        Ok(clip(g, &x))
    })
}

#[pyfunction]
fn clip_by_norm(scope: &Bound<'_, Scope>, x: &Bound<'_, PyAny>, norm: f64) -> PyResult<Py<Tensor>> {
    clipped(scope, x, |g, x| clip::clip_by_norm(g, x, norm))
}

#[pyfunction]
fn clip_by_average_norm(scope: &Bound<'_, Scope>, x: &Bound<'_, PyAny>, norm: f64) -> PyResult<Py<Tensor>> {
    clipped(scope, x, |g, x| clip::clip_by_average_norm(g, x, norm))
}

pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(gradients, m)?)?;
    m.add_function(wrap_pyfunction!(clip_by_global_norm, m)?)?;
    m.add_function(wrap_pyfunction!(global_norm, m)?)?;
    m.add_function(wrap_pyfunction!(clip_by_norm, m)?)?;
    m.add_function(wrap_pyfunction!(clip_by_average_norm, m)?)
}
