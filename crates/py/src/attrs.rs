//! Attrs: objects of Python as attrs of the kind that an op's signature asks for, and attrs as objects.

use crate::dtype;
use crate::errors::{OrRaise, wrong_type};
use crate::values;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyList, PyString, PyTuple};
use thalweg_client::{Attr, Attrs, Func, PartialShape};
use thalweg_core::signature::{AttrKind, AttrSpec, Signature};

/// The attrs of a dict for an op of this signature.
pub fn of_signature(op: &str, signature: &Signature, given: Option<&Bound<'_, PyDict>>) -> PyResult<Attrs> {
    let mut attrs = Attrs::new();
    for (key, value) in given.into_iter().flat_map(|d| d.iter()) {
        let key = key.cast_into::<PyString>()?;
        let key = key.to_cow()?;
        match signature.attr(&key) {
            Some(spec) => attrs.set(spec.name, from_python(spec, &value)?),
            None => return Err(wrong_type(format!("{op} has no attr '{key}'"))),
        }
    }
    Ok(attrs)
}

/// The attr that an object is for this signature.
pub fn from_python(spec: &AttrSpec, obj: &Bound<'_, PyAny>) -> PyResult<Attr> {
    let described = |e: PyErr| {
        let py = obj.py();
        let shown = obj.repr().map(|r| r.to_string()).unwrap_or_default();
        let cause = e.value(py).to_string();
        wrong_type(format!("attr '{}' must be {}, got {shown}: {cause}", spec.name, spec.describe()))
    };
    of_kind(&spec.kind, obj).map_err(described)
}

fn of_kind(kind: &AttrKind, obj: &Bound<'_, PyAny>) -> PyResult<Attr> {
    Ok(match kind {
        AttrKind::Str => match obj.cast::<PyBytes>() {
            Ok(bytes) => Attr::Str(bytes::Bytes::copy_from_slice(bytes.as_bytes())),
            Err(_) => Attr::str(&obj.extract::<String>()?),
        },
        AttrKind::Int => Attr::Int(obj.extract()?),
        AttrKind::Float => Attr::Float(obj.extract::<f64>()? as f32),
        AttrKind::Bool => Attr::Bool(obj.extract()?),
        AttrKind::Type => Attr::Type(dtype::from_python(obj)?),
        AttrKind::Shape => Attr::Shape(shape_of(obj)?),
        AttrKind::Tensor => Attr::Tensor(values::tensor_of(obj, None)?),
        AttrKind::Func => Attr::Func(Func::named(function_name(obj)?)),
        AttrKind::List(inner) => {
            if obj.is_instance_of::<PyString>() {
                return Err(wrong_type("a text is no list"));
            }
            Attr::List(obj.try_iter()?.map(|item| of_kind(inner, &item?)).collect::<PyResult<_>>()?)
        }
    })
}

/// A function by name, or an object with a name.
fn function_name(obj: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(name) = obj.extract::<String>() {
        return Ok(name);
    }
    obj.getattr("name")?.extract()
}

/// A shape: a TensorShape, a list of sizes with None or -1 for unknown ones, one size, or None.
pub fn shape_of(obj: &Bound<'_, PyAny>) -> PyResult<PartialShape> {
    let py = obj.py();
    if obj.is_none() {
        return Ok(PartialShape::unknown());
    }
    if let Ok(dims) = obj.getattr(intern!(py, "_dims")) {
        return if dims.is_none() { Ok(PartialShape::unknown()) } else { of_sizes(&dims) };
    }
    if obj.is_instance_of::<PyInt>() {
        return PartialShape::new(&[obj.extract()?]).or_raise(py);
    }
    of_sizes(obj)
}

fn of_sizes(obj: &Bound<'_, PyAny>) -> PyResult<PartialShape> {
    let py = obj.py();
    let size = |item: PyResult<Bound<'_, PyAny>>| {
        let item = item?;
        if item.is_none() {
            return Ok(-1i64);
        }
        match item.extract::<i64>() {
            Ok(n) => Ok(n),
            // A Dimension, possibly unknown.
            Err(e) => match item.getattr("value") {
                Ok(value) if value.is_none() => Ok(-1),
                Ok(value) => value.extract(),
                Err(_) => Err(e),
            },
        }
    };
    let sizes: Vec<i64> = obj.try_iter()?.map(size).collect::<PyResult<_>>()?;
    PartialShape::new(&sizes).or_raise(py)
}

/// The sizes as a tuple with None for unknown ones; None if not even their number is known.
pub fn sizes(py: Python<'_>, shape: &PartialShape) -> PyResult<Py<PyAny>> {
    let Some(dims) = shape.dims() else { return Ok(py.None()) };
    let items = dims.iter().map(|d| (*d >= 0).then_some(*d));
    Ok(PyTuple::new(py, items)?.into_any().unbind())
}

pub fn to_python(py: Python<'_>, attr: &Attr) -> PyResult<Py<PyAny>> {
    Ok(match attr {
        Attr::Str(bytes) => PyBytes::new(py, bytes).into_any().unbind(),
        Attr::Int(v) => v.into_pyobject(py)?.into_any().unbind(),
        Attr::Float(v) => v.into_pyobject(py)?.into_any().unbind(),
        Attr::Bool(v) => v.into_pyobject(py)?.to_owned().into_any().unbind(),
        Attr::Type(t) => dtype::object(py, *t)?.into_any(),
        Attr::Shape(s) => py.import("thalweg")?.getattr("TensorShape")?.call1((sizes(py, s)?,))?.unbind(),
        Attr::Tensor(t) => values::to_python(py, t.clone())?,
        Attr::Func(f) => f.name.as_str().into_pyobject(py)?.into_any().unbind(),
        Attr::Placeholder(name) => name.as_str().into_pyobject(py)?.into_any().unbind(),
        Attr::List(items) => {
            let items: Vec<_> = items.iter().map(|item| to_python(py, item)).collect::<PyResult<_>>()?;
            PyList::new(py, items)?.into_any().unbind()
        }
    })
}
