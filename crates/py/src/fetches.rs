//! What `Session.run` fetches and feeds: tensors, operations, variables and names, alone or in lists, tuples and dicts; the results come in the
//! same structure.

use crate::args;
use crate::errors::wrong_type;
use crate::operation::Operation;
use crate::tensor::Tensor;
use crate::values;
use crate::variables::Variable;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyString, PyTuple, PyType};
use thalweg_client as client;
use thalweg_client::Output;

/// The structure of fetches, with the index of each tensor.
pub enum Structure {
    Tensor(usize),
    Nothing,
    List(Vec<Structure>),
    Tuple(Vec<Structure>),
    /// A tuple with names.
    Named(Py<PyType>, Vec<Structure>),
    Dict(Vec<(Py<PyAny>, Structure)>),
    /// Several tensors that make one value, and the function that makes it.
    Made(Py<PyAny>, Vec<Structure>),
}

/// The fetches and targets of a run.
#[derive(Default)]
pub struct Wanted {
    pub outputs: Vec<Output>,
    pub operations: Vec<client::Operation>,
}

impl Wanted {
    /// Adds what an object asks for.
    pub fn add(&mut self, scope: &client::Scope, obj: &Bound<'_, PyAny>) -> PyResult<Structure> {
        let py = obj.py();
        if let Ok(t) = obj.cast::<Tensor>() {
            return Ok(self.output(t.get().output.clone()));
        }
        if let Ok(op) = obj.cast::<Operation>() {
            self.operations.push(op.get().op.clone());
            return Ok(Structure::Nothing);
        }
        if let Ok(v) = obj.cast::<Variable>() {
            return Ok(self.output(v.get().variable.value.clone()));
        }
        if let Ok(name) = obj.cast::<PyString>() {
            return self.named(scope, name.to_cow()?.as_ref());
        }
        let mut all = |items: &Bound<'_, PyAny>| {
            items.try_iter()?.map(|item| self.add(scope, &item?)).collect::<PyResult<Vec<_>>>()
        };
        if obj.is_instance_of::<PyList>() {
            return Ok(Structure::List(all(obj)?));
        }
        if obj.is_instance_of::<PyTuple>() {
            let parts = all(obj)?;
            return Ok(match obj.hasattr(intern!(py, "_fields"))? {
                true => Structure::Named(obj.get_type().unbind(), parts),
                false => Structure::Tuple(parts),
            });
        }
        if let Ok(dict) = obj.cast::<PyDict>() {
            let items = dict.iter().map(|(key, value)| Ok((key.unbind(), self.add(scope, &value)?)));
            return Ok(Structure::Dict(items.collect::<PyResult<_>>()?));
        }
        // Sparse tensors, gradients of rows: their parts, and what makes one value of them.
        if let Ok(parts) = obj.getattr(intern!(py, "_thalweg_fetch")) {
            let (make, parts): (Py<PyAny>, Vec<Bound<'_, PyAny>>) = parts.call0()?.extract()?;
            let parts = parts.iter().map(|part| self.add(scope, part)).collect::<PyResult<_>>()?;
            return Ok(Structure::Made(make, parts));
        }
        let class = obj.get_type();
        Err(wrong_type(format!("Fetch argument {obj} has invalid type {class}, must be a string or Tensor.")))
    }

    fn output(&mut self, output: Output) -> Structure {
        self.outputs.push(output);
        Structure::Tensor(self.outputs.len() - 1)
    }

    fn named(&mut self, scope: &client::Scope, name: &str) -> PyResult<Structure> {
        let unknown =
            |e: client::Error| PyValueError::new_err(format!("Fetch argument '{name}': {}", e.message()));
        if name.contains(':') {
            return Ok(self.output(scope.output(name).map_err(unknown)?));
        }
        let id = scope.read(|g| g.get(name)).map_err(unknown)?;
        self.operations.push(scope.operation_of(id));
        Ok(Structure::Nothing)
    }
}

/// The results in the structure of the fetches.
pub fn answer(
    py: Python<'_>,
    structure: Structure,
    values: &mut [Option<client::Tensor>],
) -> PyResult<Py<PyAny>> {
    let mut all = |parts: Vec<Structure>| {
        parts.into_iter().map(|part| answer(py, part, values)).collect::<PyResult<Vec<_>>>()
    };
    Ok(match structure {
        Structure::Nothing => py.None(),
        Structure::Tensor(i) => match values.get_mut(i).and_then(Option::take) {
            Some(value) => values::to_python(py, value)?,
            None => py.None(),
        },
        Structure::List(parts) => PyList::new(py, all(parts)?)?.into_any().unbind(),
        Structure::Tuple(parts) => PyTuple::new(py, all(parts)?)?.into_any().unbind(),
        Structure::Named(class, parts) => class.call1(py, PyTuple::new(py, all(parts)?)?)?,
        Structure::Made(make, parts) => make.call1(py, PyTuple::new(py, all(parts)?)?)?,
        Structure::Dict(items) => {
            let dict = PyDict::new(py);
            for (key, part) in items {
                dict.set_item(key, answer(py, part, values)?)?;
            }
            dict.into_any().unbind()
        }
    })
}

/// The feeds of a run: outputs with their values.
pub fn feeds(
    scope: &client::Scope,
    given: &Bound<'_, PyAny>,
) -> PyResult<(Vec<Output>, Vec<client::Tensor>)> {
    let Ok(given) = given.cast::<PyDict>() else {
        return Err(wrong_type(format!("feed_dict must be a dictionary, got {given}")));
    };
    let (mut outputs, mut values) = (Vec::with_capacity(given.len()), Vec::with_capacity(given.len()));
    for (key, value) in given.iter() {
        // A sparse tensor is fed by its parts.
        if let Ok(parts) = key.getattr(intern!(given.py(), "_thalweg_feed")) {
            let parts: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)> = parts.call1((value,))?.extract()?;
            for (key, value) in parts {
                let output = args::existing(&key)?;
                values.push(feed(&output, &value)?);
                outputs.push(output);
            }
            continue;
        }
        let output = match key.cast::<PyString>() {
            Ok(name) => scope
                .output(name.to_cow()?.as_ref())
                .map_err(|e| PyValueError::new_err(format!("feed_dict: {}", e.message())))?,
            Err(_) => args::existing(&key)
                .map_err(|_| wrong_type(format!("Cannot interpret feed_dict key as Tensor: {key}")))?,
        };
        values.push(feed(&output, &value)?);
        outputs.push(output);
    }
    Ok((outputs, values))
}

fn feed(output: &Output, value: &Bound<'_, PyAny>) -> PyResult<client::Tensor> {
    if args::is_tensor(value) {
        return Err(wrong_type(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, lists, numpy ndarrays.",
        ));
    }
    let dtype = output.dtype();
    // Whole numbers are values of any type.
    let dtype = Some(dtype);
    if value.is_instance_of::<PyInt>() {
        return values::tensor_of(value, dtype);
    }
    values::tensor_of(value, dtype)
}
