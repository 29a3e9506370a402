//! Arguments of ops: objects of Python as the inputs that a signature asks for. What is no tensor yet becomes a constant, of the type of the
//! tensors beside it.

use crate::dtype;
use crate::eager::{self, EagerTensor, EagerVariable};
use crate::errors::wrong_type;
use crate::operation::Operation;
use crate::tensor::{AnyTensor, Tensor};
use crate::values;
use crate::variables::{AnyVariable, Variable};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::collections::HashMap;
use thalweg_client as client;
use thalweg_client::{Attr, Attrs, DataType, Output};
use thalweg_core::signature::{ArgSpec, ArgType, Signature};

/// One argument of an op.
pub enum Given<V> {
    One(V),
    List(Vec<V>),
}

/// Where arguments become tensors: outputs of a graph, or values.
pub trait Place: Sized {
    type Value: Clone;
    fn dtype(value: &Self::Value) -> DataType;
    /// The tensor that an object is.
    fn existing(&self, obj: &Bound<'_, PyAny>, dtype: Option<DataType>) -> PyResult<Option<Self::Value>>;
    fn constant(&self, py: Python<'_>, name: &str, value: client::Tensor) -> PyResult<Self::Value>;
    /// One tensor of these, which `make` makes with their names.
    fn packed(
        &self,
        py: Python<'_>,
        name: &str,
        make: impl FnOnce(&Self) -> PyResult<Vec<Self::Value>>,
    ) -> PyResult<Self::Value>;
}

impl Place for client::Scope {
    type Value = Output;

    fn dtype(value: &Output) -> DataType {
        value.dtype()
    }

    fn existing(&self, obj: &Bound<'_, PyAny>, dtype: Option<DataType>) -> PyResult<Option<Output>> {
        if let Ok(t) = obj.cast::<Tensor>() {
            return Ok(Some(t.get().output.clone()));
        }
        if let Ok(v) = obj.cast::<Variable>() {
            let variable = &v.get().variable;
            let of_handle = dtype == Some(DataType::Resource);
            return Ok(Some(if of_handle { variable.handle.clone() } else { variable.read(self) }));
        }
        // In a graph: an input of a function, or a constant; a variable of the graph.
        if obj.is_instance_of::<EagerTensor>() || obj.is_instance_of::<EagerVariable>() {
            return self.existing(&eager::in_graph(obj)?, dtype);
        }
        Ok(None)
    }

    fn constant(&self, _: Python<'_>, name: &str, value: client::Tensor) -> PyResult<Output> {
        Ok(self.constant_named(name, value))
    }

    fn packed(
        &self,
        _: Python<'_>,
        name: &str,
        make: impl FnOnce(&Self) -> PyResult<Vec<Output>>,
    ) -> PyResult<Output> {
        let inner = self.name_scope(name);
        let items = make(&inner)?;
        Ok(inner.op("Pack").named_as_scope().inputs(&items).output())
    }
}

/// The tensors for the arguments of an op, made in its name scope where they must be made.
pub fn of_signature<P: Place>(
    scope: &P,
    signature: &Signature,
    given: &[Bound<'_, PyAny>],
    attrs: &Attrs,
) -> PyResult<Vec<Given<P::Value>>> {
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
    if let Ok(t) = obj.cast::<EagerTensor>() {
        return Some(t.get().value.tensor.dtype());
    }
    if let Ok(v) = obj.cast::<EagerVariable>() {
        return Some(v.get().dtype);
    }
    if is_list && (obj.is_instance_of::<PyList>() || obj.is_instance_of::<PyTuple>()) {
        return obj.try_iter().ok()?.find_map(|item| known_type(&item.ok()?, false));
    }
    let dtype = obj.getattr(intern!(obj.py(), "_thalweg_dtype")).ok()?;
    dtype::from_python(&dtype).ok()
}

fn one<'s, P: Place>(
    scope: &P,
    signature: &'s Signature,
    arg: &'s ArgSpec,
    obj: &Bound<'_, PyAny>,
    types: &mut HashMap<&'s str, DataType>,
) -> PyResult<Given<P::Value>> {
    let (want, attr) = match &arg.ty {
        ArgType::Fixed(t) => (Some(*t), None),
        ArgType::Attr(name) => (types.get(name).copied(), Some(*name)),
        ArgType::List(_) => (None, None),
    };
    let is_list = arg.number.is_some() || matches!(arg.ty, ArgType::List(_));
    if !is_list {
        let made = match (want, attr.and_then(|name| default_type(signature, name))) {
            // The default type is a preference: what cannot be of it is of its own type.
            (None, Some(default)) => value_of(scope, obj, Some(default), arg.name)
                .or_else(|_| value_of(scope, obj, None, arg.name))?,
            (want, _) => value_of(scope, obj, want, arg.name)?,
        };
        if let Some(name) = attr {
            types.entry(name).or_insert(P::dtype(&made));
        }
        return Ok(Given::One(made));
    }
    if !(obj.is_instance_of::<PyList>() || obj.is_instance_of::<PyTuple>()) {
        return Err(wrong_type(format!("Expected a list for argument '{}', got {obj}.", arg.name)));
    }
    let mut list = Vec::new();
    for (i, item) in obj.try_iter()?.enumerate() {
        let want = want.or_else(|| attr.and_then(|name| types.get(name).copied()));
        let made = value_of(scope, &item?, want, &format!("{}_{i}", arg.name))?;
        if let Some(name) = attr {
            types.entry(name).or_insert(P::dtype(&made));
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
    obj.is_instance_of::<AnyTensor>()
        || obj.is_instance_of::<AnyVariable>()
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

/// The object as an output of a graph, as `value_of`.
pub fn output_of(
    scope: &client::Scope,
    obj: &Bound<'_, PyAny>,
    dtype: Option<DataType>,
    name: &str,
) -> PyResult<Output> {
    value_of(scope, obj, dtype, name)
}

/// The object as a tensor: a tensor as it is, the value of a variable, a list of tensors packed into one, anything else as a constant.
pub fn value_of<P: Place>(
    place: &P,
    obj: &Bound<'_, PyAny>,
    dtype: Option<DataType>,
    name: &str,
) -> PyResult<P::Value> {
    let py = obj.py();
    if let Some(found) = place.existing(obj, dtype)? {
        return Ok(found);
    }
    if obj.is_instance_of::<Operation>() {
        return Err(wrong_type(format!("an operation has no value: {obj}")));
    }
    if let Ok(convert) = obj.getattr(intern!(py, "_thalweg_tensor")) {
        let converted = convert.call0()?;
        return value_of(place, &converted, dtype, name);
    }
    if holds_tensor(obj) {
        let dtype = dtype.or_else(|| type_inside(obj));
        return place.packed(py, name, |inner| {
            let items = obj.try_iter()?.enumerate();
            items.map(|(i, item)| value_of(inner, &item?, dtype, &i.to_string())).collect()
        });
    }
    place.constant(py, name, values::tensor_of(obj, dtype)?)
}

/// The object as an output of an existing tensor or variable only.
pub fn existing(obj: &Bound<'_, PyAny>) -> PyResult<Output> {
    if let Ok(t) = obj.cast::<Tensor>() {
        return Ok(t.get().output.clone());
    }
    if let Ok(v) = obj.cast::<Variable>() {
        return Ok(v.get().variable.value.clone());
    }
    if obj.is_instance_of::<EagerTensor>() || obj.is_instance_of::<EagerVariable>() {
        return existing(&eager::in_graph(obj)?);
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
