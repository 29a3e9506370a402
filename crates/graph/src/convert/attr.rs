//! AttrValue.

use bytes::Bytes;
use std::collections::BTreeMap;
use thalweg_core::attr::{Attr, Attrs, Func};
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_io::wire::{
    partial_shape_from_proto, partial_shape_to_proto, tensor_from_proto, tensor_to_proto,
};
use thalweg_proto::attr_value::{ListValue, Value};
use thalweg_proto::{AttrValue, NameAttrList};

/// Maximum nesting of functions in attrs. The decoder's own limit is near; no program comes close.
const MAX_DEPTH: usize = 64;

pub fn attrs_from_proto(map: &BTreeMap<String, AttrValue>) -> Result<Attrs> {
    attrs_at(map, 0)
}

fn attrs_at(map: &BTreeMap<String, AttrValue>, depth: usize) -> Result<Attrs> {
    let mut attrs = Vec::with_capacity(map.len());
    for (name, v) in map {
        match attr_at(v, depth) {
            Ok(attr) => attrs.push((name.clone(), attr)),
            // TensorFlow's optimiser annotates graphs in an encoding of its own.
            Err(_) if name == "_input_shapes" => {}
            Err(e) => return Err(e.context(format_args!("attr '{name}'"))),
        }
    }
    Ok(Attrs::of_map(attrs.into_iter()))
}

pub fn attr_from_proto(v: &AttrValue) -> Result<Attr> {
    attr_at(v, 0)
}

fn dtype(n: i32) -> Result<DataType> {
    // A reference type in an attr means its base type: references are a property of the edge.
    let base = if n > 100 { n - 100 } else { n };
    DataType::from_wire(base).ok_or_else(|| invalid!("unknown data type number {n}"))
}

fn attr_at(v: &AttrValue, depth: usize) -> Result<Attr> {
    Ok(match v.value.as_ref().ok_or_else(|| invalid!("has no value"))? {
        Value::S(s) => Attr::Str(own(s)),
        Value::I(i) => Attr::Int(*i),
        Value::F(f) => Attr::Float(*f),
        Value::B(b) => Attr::Bool(*b),
        Value::Type(t) => Attr::Type(dtype(*t)?),
        Value::Shape(s) => Attr::Shape(partial_shape_from_proto(s)?),
        Value::Tensor(t) => Attr::Tensor(tensor_from_proto(t)?),
        Value::Placeholder(p) => Attr::Placeholder(p.clone()),
        Value::Func(f) => Attr::Func(func_at(f, depth)?),
        Value::List(l) => Attr::List(list_at(l, depth)?),
    })
}

/// A copy: bytes of a decoded message share its buffer, and one short string would keep all of it alive.
fn own(s: &Bytes) -> Bytes {
    Bytes::copy_from_slice(s)
}

fn func_at(f: &NameAttrList, depth: usize) -> Result<Func> {
    if depth >= MAX_DEPTH {
        return Err(invalid!("functions nested more than {MAX_DEPTH} deep in an attr"));
    }
    Ok(Func { name: f.name.clone(), attrs: attrs_at(&f.attr, depth + 1)? })
}

fn list_at(l: &ListValue, depth: usize) -> Result<Vec<Attr>> {
    let mut all: Vec<Attr> = Vec::new();
    all.extend(l.s.iter().map(|s| Attr::Str(own(s))));
    all.extend(l.i.iter().map(|i| Attr::Int(*i)));
    all.extend(l.f.iter().map(|f| Attr::Float(*f)));
    all.extend(l.b.iter().map(|b| Attr::Bool(*b)));
    for t in &l.r#type {
        all.push(Attr::Type(dtype(*t)?));
    }
    for s in &l.shape {
        all.push(Attr::Shape(partial_shape_from_proto(s)?));
    }
    for t in &l.tensor {
        all.push(Attr::Tensor(tensor_from_proto(t)?));
    }
    for f in &l.func {
        all.push(Attr::Func(func_at(f, depth)?));
    }
    Ok(all)
}

pub fn attrs_to_proto(attrs: &Attrs) -> Result<BTreeMap<String, AttrValue>> {
    attrs.iter().map(|(n, a)| Ok((n.to_string(), attr_to_proto(a)?))).collect()
}

fn func_to_proto(f: &Func) -> Result<NameAttrList> {
    Ok(NameAttrList { name: f.name.clone(), attr: attrs_to_proto(&f.attrs)? })
}

pub fn attr_to_proto(a: &Attr) -> Result<AttrValue> {
    let value = match a {
        Attr::Str(s) => Value::S(s.clone()),
        Attr::Int(i) => Value::I(*i),
        Attr::Float(f) => Value::F(*f),
        Attr::Bool(b) => Value::B(*b),
        Attr::Type(t) => Value::Type(t.wire()),
        Attr::Shape(s) => Value::Shape(partial_shape_to_proto(s)),
        Attr::Tensor(t) => Value::Tensor(Box::new(tensor_to_proto(t)?)),
        Attr::Placeholder(p) => Value::Placeholder(p.clone()),
        Attr::Func(f) => Value::Func(func_to_proto(f)?),
        Attr::List(items) => Value::List(Box::new(list_to_proto(items)?)),
    };
    Ok(AttrValue { value: Some(value) })
}

fn list_to_proto(items: &[Attr]) -> Result<ListValue> {
    let mut l = ListValue::default();
    for item in items {
        match item {
            Attr::Str(s) => l.s.push(s.clone()),
            Attr::Int(i) => l.i.push(*i),
            Attr::Float(f) => l.f.push(*f),
            Attr::Bool(b) => l.b.push(*b),
            Attr::Type(t) => l.r#type.push(t.wire()),
            Attr::Shape(s) => l.shape.push(partial_shape_to_proto(s)),
            Attr::Tensor(t) => l.tensor.push(tensor_to_proto(t)?),
            Attr::Func(f) => l.func.push(func_to_proto(f)?),
            Attr::Placeholder(_) | Attr::List(_) => {
                return Err(invalid!("a list cannot hold a {}", item.kind()));
            }
        }
    }
    Ok(l)
}
