//! Arguments of ops: objects of Python as the inputs that a signature asks for. What is no tensor yet becomes a constant, of the type of the
//! tensors beside it.

use crate::dtype;
use crate::errors::wrong_type;
use crate::operation::Operation;
use crate::tensor::Tensor;
use crate::values;
use crate::variables::Variable;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::collections::HashMap;
use thalweg_client as client;
use thalweg_client::{Attr, Attrs, DataType, Output};
use thalweg_core::signature::{ArgSpec, ArgType, Signature};

/// One argument of an op.
pub enum Given {
    One(Output),
    List(Vec<Output>),
}

/// The outputs for the arguments of an op, made in its name scope where they must be made.
pub fn of_signature(
    scope: &client::Scope,
    signature: &Signature,
    given: &[Bound<'_, PyAny>],
    attrs: &Attrs,
) -> PyResult<Vec<Given>> {
    if given.len() != signature.inputs.len() {
        let text = format!("takes {} inputs, got {}", signature.inputs.len(), given.len());
        return Err(wrong_type(text));
    }
    let mut types: HashMap<&str, DataType> = HashMap::new();
    for (name, attr) in attrs.iter() {
        if let Attr::Type(t) = attr {
            types.insert(name, *t);
        }
    }
    for (arg, obj) in signature.inputs.iter().zip(given) {
        if let (ArgType::Attr(name), Some(t)) = (&arg.ty, known_type(obj, arg.number.is_some())) {
            types.entry(name).or_insert(t);
        }
    }
    let mut found = Vec::with_capacity(given.len());
    for (arg, obj) in signature.inputs.iter().zip(given) {
        found.push(one(scope, signature, arg, obj, &mut types)?);
    }
    Ok(found)
}

/// The type of a tensor, or of the first tensor of a list.
fn known_type(obj: &Bound<'_, PyAny>, is_list: bool) -> Option<DataType> {
    if let Ok(t) = obj.cast::<Tensor>() {
        return Some(t.get().output.dtype());
    }
    if let Ok(v) = obj.cast::<Variable>() {
        return Some(v.get().variable.dtype());
    }
    if is_list && (obj.is_instance_of::<PyList>() || obj.is_instance_of::<PyTuple>()) {
        return obj.try_iter().ok()?.find_map(|item| known_type(&item.ok()?, false));
    }
    let dtype = obj.getattr(intern!(obj.py(), "_thalweg_dtype")).ok()?;
    dtype::from_python(&dtype).ok()
}

fn one<'s>(
    scope: &client::Scope,
    signature: &'s Signature,
    arg: &'s ArgSpec,
    obj: &Bound<'_, PyAny>,
    types: &mut HashMap<&'s str, DataType>,
) -> PyResult<Given> {
    let (want, attr) = match &arg.ty {
        ArgType::Fixed(t) => (Some(*t), None),
        ArgType::Attr(name) => (types.get(name).copied(), Some(*name)),
        ArgType::List(_) => (None, None),
    };
    let is_list = arg.number.is_some() || matches!(arg.ty, ArgType::List(_));
    if !is_list {
        let made = match (want, attr.and_then(|name| default_type(signature, name))) {
            // The default type is a preference: what cannot be of it is of its own type.
            (None, Some(default)) => output_of(scope, obj, Some(default), arg.name)
                .or_else(|_| output_of(scope, obj, None, arg.name))?,
            (want, _) => output_of(scope, obj, want, arg.name)?,
        };
        if let Some(name) = attr {
            types.entry(name).or_insert(made.dtype());
        }
        return Ok(Given::One(made));
    }
    if !(obj.is_instance_of::<PyList>() || obj.is_instance_of::<PyTuple>()) {
        return Err(wrong_type(format!("Expected a list for argument '{}', got {obj}.", arg.name)));
    }
    let mut list = Vec::new();
    for (i, item) in obj.try_iter()?.enumerate() {
        let want = want.or_else(|| attr.and_then(|name| types.get(name).copied()));
        let made = output_of(scope, &item?, want, &format!("{}_{i}", arg.name))?;
        if let Some(name) = attr {
            types.entry(name).or_insert(made.dtype());
        }
        list.push(made);
    }
    Ok(Given::List(list))
}

/// The default of a type attr.
fn default_type(signature: &Signature, name: &str) -> Option<DataType> {
    match signature.attr(name)?.default {
        Some(Attr::Type(t)) => Some(t),
        _ => None,
    }
}

/// Whether an object is a tensor, or stands for one.
pub fn is_tensor(obj: &Bound<'_, PyAny>) -> bool {
    obj.is_instance_of::<Tensor>()
        || obj.is_instance_of::<Variable>()
        || obj.hasattr(intern!(obj.py(), "_thalweg_tensor")).unwrap_or(false)
}

fn holds_tensor(obj: &Bound<'_, PyAny>) -> bool {
    let is_list = obj.is_instance_of::<PyList>() || obj.is_instance_of::<PyTuple>();
    is_list
        && obj
            .try_iter()
            .is_ok_and(|mut items| items.any(|i| i.is_ok_and(|i| is_tensor(&i) || holds_tensor(&i))))
}

/// The type of the first tensor in nested lists.
fn type_inside(obj: &Bound<'_, PyAny>) -> Option<DataType> {
    known_type(obj, false).or_else(|| {
        let is_list = obj.is_instance_of::<PyList>() || obj.is_instance_of::<PyTuple>();
        is_list.then(|| obj.try_iter().ok()?.find_map(|item| type_inside(&item.ok()?))).flatten()
    })
}

/// The object as an output: a tensor as it is, the value of a variable, a list of tensors packed into one, anything else as a constant.
pub fn output_of(
    scope: &client::Scope,
    obj: &Bound<'_, PyAny>,
    dtype: Option<DataType>,
    name: &str,
) -> PyResult<Output> {
    let py = obj.py();
    if let Ok(t) = obj.cast::<Tensor>() {
        return Ok(t.get().output.clone());
    }
    if let Ok(v) = obj.cast::<Variable>() {
        let variable = &v.get().variable;
        return Ok(if dtype == Some(DataType::Resource) {
            variable.handle.clone()
        } else {
            variable.read(scope)
        });
    }
    if obj.is_instance_of::<Operation>() {
        return Err(wrong_type(format!("an operation has no value: {obj}")));
    }
    if let Ok(convert) = obj.getattr(intern!(py, "_thalweg_tensor")) {
        let converted = convert.call0()?;
        return output_of(scope, &converted, dtype, name);
    }
    if holds_tensor(obj) {
        let dtype = dtype.or_else(|| type_inside(obj));
        let inner = scope.name_scope(name);
        let items: Vec<Output> = obj
            .try_iter()?
            .enumerate()
            .map(|(i, item)| output_of(&inner, &item?, dtype, &i.to_string()))
            .collect::<PyResult<_>>()?;
        return Ok(inner.op("Pack").named_as_scope().inputs(&items).output());
    }
    let tensor = values::tensor_of(obj, dtype)?;
    Ok(scope.constant_named(name, tensor))
}

/// The object as an output of an existing tensor or variable only.
pub fn existing(obj: &Bound<'_, PyAny>) -> PyResult<Output> {
    if let Ok(t) = obj.cast::<Tensor>() {
        return Ok(t.get().output.clone());
    }
    if let Ok(v) = obj.cast::<Variable>() {
        return Ok(v.get().variable.value.clone());
    }
    if let Ok(convert) = obj.getattr(intern!(obj.py(), "_thalweg_tensor")) {
        return existing(&convert.call0()?);
    }
    Err(PyValueError::new_err(format!("needs a tensor, got {obj}")))
}

/// The operation that an object is, or that computes it.
pub fn operation_of(obj: &Bound<'_, PyAny>) -> PyResult<client::Operation> {
    if let Ok(op) = obj.cast::<Operation>() {
        return Ok(op.get().op.clone());
    }
    Ok(existing(obj)?.op())
}
