//! The op table for Python: what functions, their documentation and their stubs are generated from.

use crate::attrs;
use crate::errors::OrRaise;
use crate::py_function::PY_FUNC;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::HashSet;
use std::sync::{Arc, OnceLock};
use thalweg_client as client;
use thalweg_core::registry::Registry;
use thalweg_core::signature::{ArgSpec, ArgType, Signature};

/// The registry that all graphs share: signatures are parsed once.
pub fn registry() -> Arc<Registry> {
    static REGISTRY: OnceLock<Arc<Registry>> = OnceLock::new();
    let with_python = || client::Scope::with_ops(&[&PY_FUNC]).read(|g| g.registry.clone());
    REGISTRY.get_or_init(with_python).clone()
}

/// Names of all ops that programs may use.
#[pyfunction]
pub fn op_names() -> Vec<&'static str> {
    registry().all().iter().map(|op| op.name).filter(|name| !name.starts_with('_')).collect()
}

/// The attrs that follow from the types and numbers of inputs.
pub fn inferred(signature: &Signature) -> HashSet<&'static str> {
    let attr = |arg: &ArgSpec| match arg.ty {
        ArgType::Fixed(_) => None,
        ArgType::Attr(name) | ArgType::List(name) => Some(name),
    };
    signature.inputs.iter().flat_map(|arg| [attr(arg), arg.number]).flatten().collect()
}

/// An op's signature: `(doc, inputs, attrs, outputs, stateful)`. Inputs and outputs are `(name, type, is_list)`; attrs, without those that follow
/// from inputs, `(name, kind, has_default, default)`.
#[pyfunction]
pub fn op_definition<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let registry = registry();
    let op = registry.find(name).or_raise(py)?;
    let signature = registry.signature(op).or_raise(py)?;
    let argument = |(arg, text): (&ArgSpec, &&'static str)| {
        let kind = text.split_once(": ").map_or("", |(_, kind)| kind);
        (arg.name, kind, arg.number.is_some() || matches!(arg.ty, ArgType::List(_)))
    };
    let inferred = inferred(signature);
    let mut attr_list = Vec::new();
    for spec in signature.attrs.iter().filter(|a| !inferred.contains(a.name)) {
        let default = spec.default.as_ref().map(|d| attrs::to_python(py, d)).transpose()?;
        attr_list.push((spec.name, spec.describe(), spec.default.is_some(), default));
    }
    let definition = PyDict::new(py);
    definition.set_item("name", op.name)?;
    definition.set_item("doc", op.doc)?;
    definition.set_item("inputs", PyList::new(py, signature.inputs.iter().zip(op.inputs).map(argument))?)?;
    definition
        .set_item("outputs", PyList::new(py, signature.outputs.iter().zip(op.outputs).map(argument))?)?;
    definition.set_item("attrs", attr_list)?;
    definition.set_item("stateful", op.stateful)?;
    Ok(definition)
}
