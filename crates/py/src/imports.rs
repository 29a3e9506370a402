//! Graphs from messages: imported into a graph that is being built, with their variables, and SavedModels.

use crate::args;
use crate::errors::OrRaise;
use crate::messages::decoded;
use crate::scope::Scope;
use crate::session::Session;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use thalweg_client as client;
use thalweg_client::saved_model::state_steps;
use thalweg_client::{Code, Error, Output, Result};
use thalweg_io::message::decode;
use thalweg_io::saved_model;
use thalweg_proto::attr_value::Value;
use thalweg_proto::collection_def::Kind;
use thalweg_proto::{GraphDef, MetaGraphDef, NodeDef, VariableDef, encode};

/// Node and index that an input names: `^node`, `node`, `node:1`.
fn split(input: &str) -> (&str, &str, u32) {
    let (caret, rest) = input.strip_prefix('^').map_or(("", input), |rest| ("^", rest));
    match rest.rsplit_once(':').and_then(|(node, i)| Some((node, i.parse().ok()?))) {
        Some((node, index)) => (caret, node, index),
        None => (caret, rest, 0),
    }
}

/// Prefixes names, and replaces inputs that are mapped to tensors of the graph.
fn renamed(def: &mut GraphDef, prefix: &str, mapped: &HashMap<String, String>) {
    for node in &mut def.node {
        node.name = format!("{prefix}{}", node.name);
        for input in &mut node.input {
            let (caret, name, index) = split(input);
            *input = match mapped.get(&format!("{caret}{name}:{index}")) {
                Some(tensor) => tensor.clone(),
                None => format!(
                    "{caret}{prefix}{name}{}",
                    if index > 0 { format!(":{index}") } else { String::new() }
                ),
            };
        }
        if let Some(Value::List(list)) = node.attr.get_mut("_class").and_then(|a| a.value.as_mut()) {
            for class in &mut list.s {
                if let Some(other) = class.strip_prefix(b"loc:@") {
                    *class = [b"loc:@", prefix.as_bytes(), other].concat().into();
                }
            }
        }
    }
}

fn import(scope: &client::Scope, def: &GraphDef) -> Result<()> {
    scope.change(|g| g.import(def))
}

/// Imports a serialised GraphDef under a prefix, which is empty or ends with a slash.
#[pyfunction]
fn import_graph_def(
    scope: &Bound<'_, Scope>,
    bytes: &[u8],
    prefix: &str,
    input_map: BTreeMap<String, Bound<'_, PyAny>>,
) -> PyResult<()> {
    let (py, scope) = (scope.py(), scope.get());
    let mut def: GraphDef = decoded(bytes).or_raise(py)?;
    let mut mapped = HashMap::new();
    for (name, value) in &input_map {
        let (caret, node, index) = split(name);
        mapped.insert(format!("{caret}{node}:{index}"), args::existing(value)?.name());
    }
    renamed(&mut def, prefix, &mapped);
    scope.try_build(py, |g| import(g, &def))
}

/// Imports a meta graph, with the variables that its collections name.
fn with_variables(scope: &client::Scope, meta: &MetaGraphDef) -> Result<()> {
    let def = meta.graph_def.as_ref();
    import(scope, def.ok_or_else(|| Error::new(Code::DataLoss, "the meta graph has no graph"))?)?;
    for key in ["variables", "trainable_variables", "local_variables"] {
        let Some(Kind::BytesList(list)) = meta.collection_def.get(key).and_then(|c| c.kind.as_ref()) else {
            continue;
        };
        for bytes in &list.value {
            let def: VariableDef = decode::<VariableDef>(bytes.clone())?
                .map_err(|e| Error::new(Code::DataLoss, format!("a variable of the meta graph: {e}")))?;
            if !def.is_resource {
                return Err(Error::new(
                    Code::Unimplemented,
                    format!(
                        "the variable '{}' is a reference; only resources are imported",
                        def.variable_name
                    ),
                ));
            }
            let output = |name: &str| -> Result<Output> { scope.output(name) };
            let init = scope.read(|g| g.get(&def.initializer_name)).map(|id| scope.operation_of(id))?;
            let v = client::Variable {
                handle: output(&def.variable_name)?,
                value: output(&def.snapshot_name)?,
                init,
                initial: output(&def.initial_value_name)?,
                trainable: def.trainable,
                slice: None,
            };
            scope.store_variable(&v);
            if key == "local_variables" {
                scope.add_to_collection(client::keys::LOCAL_VARIABLES, &v.handle);
            }
        }
    }
    Ok(())
}

#[pyfunction]
fn import_meta_graph(scope: &Bound<'_, Scope>, bytes: &[u8]) -> PyResult<()> {
    let (py, scope) = (scope.py(), scope.get());
    let meta: MetaGraphDef = decoded(bytes).or_raise(py)?;
    scope.try_build(py, |g| with_variables(g, &meta))
}

/// A signature: its name, method, inputs and outputs by name with their tensors' names.
type Signature = (String, String, Vec<(String, String)>, Vec<(String, String)>);

/// Imports a SavedModel into the graph of a session, and restores its state there.
#[pyfunction]
#[pyo3(signature = (scope, session, directory, tags=None))]
fn load_saved_model(
    scope: &Bound<'_, Scope>,
    session: &Bound<'_, Session>,
    directory: PathBuf,
    tags: Option<Vec<String>>,
) -> PyResult<Vec<Signature>> {
    let (py, scope) = (scope.py(), scope.get());
    let message = saved_model::read(&directory).or_raise(py)?;
    let meta = saved_model::select(message, tags.as_deref()).or_raise(py)?;
    scope.try_build(py, |g| with_variables(g, &meta))?;
    let session = session.get().session.clone();
    py.detach(|| restored(&session, &directory, &meta)).or_raise(py)?;
    let names = |of: &BTreeMap<String, thalweg_proto::TensorInfo>| {
        let name = |info: &thalweg_proto::TensorInfo| match &info.encoding {
            Some(thalweg_proto::tensor_info::Encoding::Name(name)) => name.clone(),
            _ => String::new(),
        };
        of.iter().map(|(key, info)| (key.clone(), name(info))).collect::<Vec<_>>()
    };
    let all = meta.signature_def.iter();
    Ok(all
        .map(|(key, s)| (key.clone(), s.method_name.clone(), names(&s.inputs), names(&s.outputs)))
        .collect())
}

fn restored(session: &client::Session, directory: &Path, meta: &MetaGraphDef) -> Result<()> {
    let runtime = session.runtime().ok_or_else(|| {
        Error::new(Code::Unimplemented, "a SavedModel is loaded into a session of this process only")
    })?;
    // The session takes the new nodes.
    session.callable(&[], &Vec::<Output>::new())?;
    state_steps(directory, meta)?.iter().try_for_each(|step| step.run(runtime))
}

fn refs(list: &[(String, Output)]) -> Vec<(&str, &Output)> {
    list.iter().map(|(n, o)| (n.as_str(), o)).collect()
}

/// Writes a SavedModel of the session's graph with these signatures.
#[pyfunction]
fn save_saved_model(
    scope: &Bound<'_, Scope>,
    session: &Bound<'_, Session>,
    directory: PathBuf,
    tags: Vec<String>,
    signatures: Vec<(String, String, Vec<(String, Py<Tensor>)>, Vec<(String, Py<Tensor>)>)>,
    init: Option<Bound<'_, crate::operation::Operation>>,
) -> PyResult<()> {
    let (py, scope) = (scope.py(), scope.get());
    let session = session.get().session.clone();
    scope.try_build(py, |g| {
        let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
        let mut builder = thalweg_train::saved_model::SavedModelBuilder::new(g).tags(&tags);
        for (name, method, inputs, outputs) in &signatures {
            let all = |list: &[(String, Py<Tensor>)]| {
                list.iter().map(|(n, t)| (n.clone(), t.get().output.clone())).collect::<Vec<_>>()
            };
            let (inputs, outputs) = (all(inputs), all(outputs));
            builder = builder.signature_of(name, method, &refs(&inputs), &refs(&outputs));
        }
        if let Some(init) = &init {
            builder = builder.init_op(&init.get().op);
        }
        py.detach(|| builder.save(&session, &directory))
    })
}

/// The part of a serialised GraphDef that these nodes need, with the nodes that `values` names replaced by constants.
#[pyfunction]
fn frozen<'py>(
    py: Python<'py>,
    bytes: &[u8],
    wanted: Vec<String>,
    values: BTreeMap<String, Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let def: GraphDef = decoded(bytes).or_raise(py)?;
    let mut constants: HashMap<String, NodeDef> = HashMap::new();
    for (name, value) in &values {
        let tensor = crate::values::tensor_of(value, None)?;
        let g = client::Scope::with_registry(crate::op_table::registry());
        g.constant_named(name, tensor);
        let made = g.to_graph_def().or_raise(py)?.node.into_iter().next();
        constants.extend(made.map(|node| (name.clone(), node)));
    }
    let by_name: HashMap<&str, &NodeDef> = def.node.iter().map(|n| (n.name.as_str(), n)).collect();
    let mut needed: Vec<&str> = wanted.iter().map(|w| split(w).1).collect();
    let mut kept = std::collections::HashSet::new();
    while let Some(name) = needed.pop() {
        let Some(node) = by_name.get(name) else {
            let e = Error::new(Code::InvalidArgument, format!("{name} is not in graph"));
            return Err(e).or_raise(py);
        };
        if kept.insert(name) && !constants.contains_key(name) {
            needed.extend(node.input.iter().map(|i| split(i).1));
        }
    }
    let node = def.node.iter().filter(|n| kept.contains(n.name.as_str()));
    let node = node.map(|n| constants.get(&n.name).unwrap_or(n).clone()).collect();
    Ok(PyBytes::new(py, &encode(&GraphDef { node, ..def.clone() })))
}

pub fn add_to(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(import_graph_def, m)?)?;
    m.add_function(wrap_pyfunction!(import_meta_graph, m)?)?;
    m.add_function(wrap_pyfunction!(load_saved_model, m)?)?;
    m.add_function(wrap_pyfunction!(save_saved_model, m)?)?;
    m.add_function(wrap_pyfunction!(frozen, m)?)
}
