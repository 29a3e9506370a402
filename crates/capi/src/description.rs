//! `TF_OperationDescription`: an operation under construction. The first mistake is reported when it is finished.

use crate::attrs::{self, Values};
use crate::graph::{Graph, Operation, Port, SharedGraph};
use crate::pointers::{Array, Handle, Text, need};
use crate::status::{Status, answer, quiet};
use crate::tensor::Tensor;
use std::ffi::{c_int, c_uchar};
use std::sync::Arc;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::builder::Arg;
use thalweg_core::error::{Code, Error, Result};
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::signature::infer_attrs;
use thalweg_graph::{NodeRequest, NodeSpec, names};

pub struct Description {
    graph: Arc<SharedGraph>,
    op: String,
    name: String,
    device: String,
    args: Vec<Arg>,
    control: Vec<NodeId>,
    colocated: Vec<String>,
    attrs: Attrs,
    mistake: Option<Error>,
}

impl Values for Description {
    fn add_attr(&mut self, name: &str, value: Attr) {
        self.attrs.set(name.to_string(), value);
    }

    fn mistake(&mut self, e: Error) {
        self.mistake.get_or_insert(e);
    }
}

impl Description {
    fn outputs(&self) -> impl Iterator<Item = &Output> {
        self.args.iter().flat_map(|arg| match arg {
            Arg::One(o) => std::slice::from_ref(o),
            Arg::List(list) => list,
        })
    }

    fn finish(mut self) -> Result<Handle<Operation>> {
        if let Some(e) = self.mistake.take() {
            return Err(e.at_node(&self.name, &self.op));
        }
        if !names::is_valid_internal(&self.name) {
            return Err(invalid!("Node name '{}' contains invalid characters", self.name));
        }
        if !self.colocated.is_empty() {
            self.colocated.sort();
            self.colocated.dedup();
            let mut classes: Vec<Attr> = match self.attrs.get("_class") {
                Some(Attr::List(own)) => own.clone(),
                _ => Vec::new(),
            };
            classes.extend(self.colocated.iter().map(|name| Attr::str(&format!("loc:@{name}"))));
            self.attrs.set("_class", Attr::List(classes));
        }
        let (id, called) = self.graph.scope.change(|g| {
            if g.find(&self.name).is_some() {
                return Err(invalid!("Duplicate node name in graph: '{}'", self.name));
            }
            if g.registry.get(&self.op).is_none() && g.library.get(&self.op).is_some() {
                return Ok((self.call(g)?, Some(self.op.clone())));
            }
            // As TensorFlow's: a mistake in a node is an invalid argument.
            g.registry.find(&self.op).map_err(|e| invalid!("{}", e.message()))?;
            let request = NodeRequest {
                op: &self.op,
                name: &self.name,
                args: self.args.clone(),
                attrs: self.attrs.clone(),
                control: &self.control,
                device: &self.device,
                location: None,
            };
            match g.add_node(request) {
                // What the engine cannot run is a node all the same: running it is the error.
                Err(e) if e.code() == Code::Unimplemented => Ok((self.call(g)?, None)),
                made => Ok((made?, None)),
            }
        })?;
        Ok(self.graph.operation_as(id, called.as_deref()))
    }

    /// By names: a call of the function whose name is the type, or a node whose shapes are not known.
    fn call(&self, g: &mut thalweg_graph::Graph) -> Result<NodeId> {
        let data = self.outputs().map(|o| g.tensor_name(*o));
        let control = self.control.iter().map(|id| format!("^{}", g.node(*id).name));
        let spec = NodeSpec {
            name: self.name.clone(),
            op: self.op.clone(),
            inputs: data.chain(control).collect(),
            device: self.device.clone(),
            attrs: self.inferred(g)?,
        };
        g.add_specs(vec![spec], true)?;
        g.get(&self.name)
    }
}

impl Description {
    /// The attrs, with those that follow from the inputs of an op.
    fn inferred(&self, g: &thalweg_graph::Graph) -> Result<Attrs> {
        let mut attrs = self.attrs.clone();
        if let Some(op) = g.registry.get(&self.op) {
            let types = |arg: &Arg| match arg {
                Arg::One(o) => vec![g.dtype(*o)],
                Arg::List(list) => list.iter().map(|o| g.dtype(*o)).collect(),
            };
            let given: Vec<_> = self.args.iter().map(types).collect();
            infer_attrs(g.signature(op)?, &given, &mut attrs)?;
        }
        Ok(attrs)
    }
}

/// Changes the description; a mistake is kept for the end.
fn with(description: Option<&mut Description>, change: impl FnOnce(&mut Description) -> Result<()>) {
    quiet((), || {
        if let Some(d) = description
            && let Err(e) = change(d)
        {
            d.mistake(e);
        }
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NewOperation(graph: Option<&Graph>, op: Text, name: Text) -> Option<Box<Description>> {
    quiet(None, || {
        let mut description = Description {
            graph: need(graph)?.0.clone(),
            op: String::new(),
            name: String::new(),
            device: String::new(),
            args: Vec::new(),
            control: Vec::new(),
            colocated: Vec::new(),
            attrs: Attrs::new(),
            mistake: None,
        };
        match (op.str(), name.str()) {
            (Ok(op), Ok(name)) => (description.op, description.name) = (op.into(), name.into()),
            (Err(e), _) | (_, Err(e)) => description.mistake = Some(e),
        }
        Ok(Some(Box::new(description)))
    })
}

/// The graph has a lock of its own; this is the same as `TF_NewOperation`.
#[unsafe(no_mangle)]
pub extern "C" fn TF_NewOperationLocked(
    graph: Option<&Graph>,
    op: Text,
    name: Text,
) -> Option<Box<Description>> {
    TF_NewOperation(graph, op, name)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_FinishOperation(
    description: Option<Box<Description>>,
    status: Option<&mut Status>,
) -> Handle<Operation> {
    answer(status, Handle::null(), || need(description)?.finish())
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_FinishOperationLocked(
    description: Option<Box<Description>>,
    status: Option<&mut Status>,
) -> Handle<Operation> {
    TF_FinishOperation(description, status)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetDevice(description: Option<&mut Description>, device: Text) {
    with(description, |d| {
        d.device = device.or_empty()?.to_string();
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_AddInput(description: Option<&mut Description>, input: Port) {
    with(description, |d| {
        d.args.push(Arg::One(d.graph.output(&input)?));
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_AddInputList(description: Option<&mut Description>, inputs: Array<Port>, count: c_int) {
    with(description, |d| {
        d.args.push(Arg::List(d.graph.outputs(inputs.slice(count)?)?));
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_AddControlInput(description: Option<&mut Description>, before: Option<&Operation>) {
    with(description, |d| {
        let id = d.graph.node(need(before)?)?;
        if !d.control.contains(&id) {
            d.control.push(id);
        }
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ColocateWith(description: Option<&mut Description>, other: Option<&Operation>) {
    with(description, |d| {
        let other = need(other)?;
        d.graph.node(other)?;
        d.colocated.push(other.name.to_string_lossy().into_owned());
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrString(
    description: Option<&mut Description>,
    name: Text,
    value: Array<u8>,
    length: usize,
) {
    with(description, |d| d.put(&name, || attrs::string(&value, length)));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrStringList(
    description: Option<&mut Description>,
    name: Text,
    values: Array<Array<u8>>,
    lengths: Array<usize>,
    count: c_int,
) {
    with(description, |d| d.put(&name, || attrs::strings(&values, &lengths, count)));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrInt(description: Option<&mut Description>, name: Text, value: i64) {
    with(description, |d| d.put(&name, || Ok(value.into())));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrIntList(
    description: Option<&mut Description>,
    name: Text,
    values: Array<i64>,
    count: c_int,
) {
    with(description, |d| d.put(&name, || attrs::list(&values, count, |v| Ok(Attr::Int(*v)))));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrFloat(description: Option<&mut Description>, name: Text, value: f32) {
    with(description, |d| d.put(&name, || Ok(value.into())));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrFloatList(
    description: Option<&mut Description>,
    name: Text,
    values: Array<f32>,
    count: c_int,
) {
    with(description, |d| d.put(&name, || attrs::list(&values, count, |v| Ok(Attr::Float(*v)))));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrBool(description: Option<&mut Description>, name: Text, value: c_uchar) {
    with(description, |d| d.put(&name, || Ok((value != 0).into())));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrBoolList(
    description: Option<&mut Description>,
    name: Text,
    values: Array<c_uchar>,
    count: c_int,
) {
    with(description, |d| d.put(&name, || attrs::list(&values, count, |v| Ok(Attr::Bool(*v != 0)))));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrType(description: Option<&mut Description>, name: Text, value: c_int) {
    with(description, |d| d.put(&name, || attrs::data_type(value)));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrTypeList(
    description: Option<&mut Description>,
    name: Text,
    values: Array<c_int>,
    count: c_int,
) {
    with(description, |d| d.put(&name, || attrs::list(&values, count, |v| attrs::data_type(*v))));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrPlaceholder(
    description: Option<&mut Description>,
    name: Text,
    placeholder: Text,
) {
    with(description, |d| d.put(&name, || Ok(Attr::Placeholder(placeholder.str()?.to_string()))));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrFuncName(
    description: Option<&mut Description>,
    name: Text,
    value: Array<u8>,
    length: usize,
) {
    with(description, |d| d.put(&name, || attrs::function(&value, length)));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrShape(
    description: Option<&mut Description>,
    name: Text,
    dims: Array<i64>,
    num_dims: c_int,
) {
    with(description, |d| d.put(&name, || attrs::shape(&dims, num_dims)));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrShapeList(
    description: Option<&mut Description>,
    name: Text,
    dims: Array<Array<i64>>,
    num_dims: Array<c_int>,
    count: c_int,
) {
    with(description, |d| d.put(&name, || attrs::shapes(&dims, &num_dims, count)));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrTensorShapeProto(
    description: Option<&mut Description>,
    name: Text,
    proto: Array<u8>,
    length: usize,
    status: Option<&mut Status>,
) {
    answer(status, (), || need(description)?.put(&name, || attrs::shape_proto(&proto, length)));
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrTensorShapeProtoList(
    description: Option<&mut Description>,
    name: Text,
    protos: Array<Array<u8>>,
    lengths: Array<usize>,
    count: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let lengths = lengths.slice(count)?;
        let pairs = protos.slice(count)?.iter().zip(lengths);
        let shapes = pairs.map(|(proto, length)| attrs::shape_proto(proto, *length));
        let shapes = shapes.collect::<Result<Vec<_>>>()?;
        need(description)?.put(&name, || Ok(Attr::List(shapes)))
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrTensor(
    description: Option<&mut Description>,
    name: Text,
    value: Option<&Tensor>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let value = need(value)?.value()?;
        need(description)?.put(&name, || Ok(value.into()))
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrTensorList(
    description: Option<&mut Description>,
    name: Text,
    values: Array<Handle<Tensor>>,
    count: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let values = values.slice(count)?.iter().map(|t| Ok(Attr::Tensor(t.need()?.value()?)));
        let values = values.collect::<Result<Vec<_>>>()?;
        need(description)?.put(&name, || Ok(Attr::List(values)))
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetAttrValueProto(
    description: Option<&mut Description>,
    name: Text,
    proto: Array<u8>,
    length: usize,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let value = attrs::value_proto(&proto, length)?;
        need(description)?.put(&name, || Ok(value))
    });
}
