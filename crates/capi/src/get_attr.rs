//! `TF_OperationGetAttr*`: the attrs of operations.

use crate::buffer::Buffer;
use crate::graph::Operation;
use crate::pointers::{Handle, Out, Text, need};
use crate::status::{Status, answer};
use crate::tensor::Tensor;
use std::ffi::{c_int, c_uchar};
use thalweg_core::attr::Attr;
use thalweg_core::error::{Result, not_found};
use thalweg_core::invalid;
use thalweg_core::shape::PartialShape;
use thalweg_core::signature::AttrKind;
use thalweg_graph::convert::{attr_to_proto, partial_shape_to_proto};

/// The numbers of kinds in the header.
mod kind {
    use std::ffi::c_int;
    pub const STRING: c_int = 0;
    pub const INT: c_int = 1;
    pub const FLOAT: c_int = 2;
    pub const BOOL: c_int = 3;
    pub const TYPE: c_int = 4;
    pub const SHAPE: c_int = 5;
    pub const TENSOR: c_int = 6;
    pub const PLACEHOLDER: c_int = 7;
    pub const FUNC: c_int = 8;
}

/// `TF_AttrMetadata`.
#[repr(C)]
pub struct Metadata {
    is_list: c_uchar,
    /// -1 if it is no list.
    list_size: i64,
    kind: c_int,
    /// Bytes of strings, dimensions of shapes, else -1.
    total_size: i64,
}

fn attr(operation: Option<&Operation>, name: &Text) -> Result<Attr> {
    let (operation, name) = (need(operation)?, name.str()?);
    let found = operation.read(|_, n| n.attrs.get(name).cloned())?;
    found.ok_or_else(|| {
        let node = operation.name.to_string_lossy();
        invalid!("Operation '{node}' has no attr named '{name}'.")
    })
}

/// As `attr`; what is not there is NotFound to most getters, as in TensorFlow.
fn found(operation: Option<&Operation>, name: &Text, want: &str) -> Result<Attr> {
    attr(operation, name).map_err(|e| if want == "string" { e } else { not_found(e.message()) })
}

fn wrong(name: &Text, want: &str, got: &Attr) -> thalweg_core::error::Error {
    let name = name.str().unwrap_or_default();
    invalid!("Value for '{name}' is not a {want}: it is a {}", got.kind())
}

/// The value of an attr that is no list.
fn one<T>(
    operation: Option<&Operation>,
    name: &Text,
    want: &str,
    pick: impl Fn(&Attr) -> Option<T>,
) -> Result<T> {
    let attr = found(operation, name, want)?;
    pick(&attr).ok_or_else(|| wrong(name, want, &attr))
}

/// The values of an attr that is a list.
fn items<T>(
    operation: Option<&Operation>,
    name: &Text,
    want: &str,
    pick: impl Fn(&Attr) -> Option<T>,
) -> Result<Vec<T>> {
    let attr = found(operation, name, want)?;
    let Attr::List(items) = &attr else { return Err(wrong(name, &format!("list({want})"), &attr)) };
    items.iter().map(|item| pick(item).ok_or_else(|| wrong(name, &format!("list({want})"), item))).collect()
}

/// The kind of the items of a list, by the op's signature: the list may be empty.
fn item_kind(operation: &Operation, name: &str) -> Result<c_int> {
    operation.read(|g, n| {
        let signature = g.signature(n.op)?;
        let spec = signature.attr(name).map(|spec| &spec.kind);
        Ok(match spec {
            Some(AttrKind::List(inner)) => match **inner {
                AttrKind::Int => kind::INT,
                AttrKind::Float => kind::FLOAT,
                AttrKind::Bool => kind::BOOL,
                AttrKind::Type => kind::TYPE,
                AttrKind::Shape => kind::SHAPE,
                AttrKind::Tensor => kind::TENSOR,
                AttrKind::Func => kind::FUNC,
                AttrKind::Str | AttrKind::List(_) => kind::STRING,
            },
            _ => kind::STRING,
        })
    })?
}

/// A kind, and what adds to the total size.
fn measured(attr: &Attr) -> (c_int, Option<i64>) {
    match attr {
        Attr::Str(s) => (kind::STRING, Some(s.len() as i64)),
        Attr::Int(_) => (kind::INT, None),
        Attr::Float(_) => (kind::FLOAT, None),
        Attr::Bool(_) => (kind::BOOL, None),
        Attr::Type(_) => (kind::TYPE, None),
        Attr::Shape(s) => (kind::SHAPE, s.rank().map(|rank| rank as i64)),
        Attr::Tensor(_) => (kind::TENSOR, None),
        Attr::Func(_) | Attr::List(_) => (kind::FUNC, None),
        Attr::Placeholder(_) => (kind::PLACEHOLDER, None),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrMetadata(
    operation: Option<&Operation>,
    name: Text,
    status: Option<&mut Status>,
) -> Metadata {
    let failed = Metadata { is_list: 0, list_size: 0, kind: 0, total_size: 0 };
    answer(status, failed, || {
        let attr = attr(operation, &name)?;
        let Attr::List(items) = &attr else {
            let (kind, size) = measured(&attr);
            return Ok(Metadata { is_list: 0, list_size: -1, kind, total_size: size.unwrap_or(-1) });
        };
        let kind = match items.first() {
            Some(first) => measured(first).0,
            None => item_kind(need(operation)?, name.str()?)?,
        };
        let total_size = match kind {
            kind::STRING | kind::SHAPE => items.iter().filter_map(|item| measured(item).1).sum(),
            _ => -1,
        };
        Ok(Metadata { is_list: 1, list_size: items.len() as i64, kind, total_size })
    })
}

fn bytes_of(attr: &Attr) -> Option<bytes::Bytes> {
    if let Attr::Str(s) = attr { Some(s.clone()) } else { None }
}

fn int_of(attr: &Attr) -> Option<i64> {
    if let Attr::Int(v) = attr { Some(*v) } else { None }
}

fn float_of(attr: &Attr) -> Option<f32> {
    if let Attr::Float(v) = attr { Some(*v) } else { None }
}

fn bool_of(attr: &Attr) -> Option<c_uchar> {
    if let Attr::Bool(v) = attr { Some(c_uchar::from(*v)) } else { None }
}

fn type_of(attr: &Attr) -> Option<c_int> {
    if let Attr::Type(v) = attr { Some(v.wire()) } else { None }
}

fn shape_of(attr: &Attr) -> Option<PartialShape> {
    if let Attr::Shape(v) = attr { Some(v.clone()) } else { None }
}

fn tensor_of(attr: &Attr) -> Option<thalweg_core::tensor::Tensor> {
    if let Attr::Tensor(v) = attr { Some(v.clone()) } else { None }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrString(
    operation: Option<&Operation>,
    name: Text,
    value: Out<u8>,
    max_length: usize,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let found = one(operation, &name, "string", bytes_of)?;
        found.iter().take(max_length).enumerate().for_each(|(i, byte)| value.put_at(i, *byte));
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrStringList(
    operation: Option<&Operation>,
    name: Text,
    values: Out<*mut u8>,
    lengths: Out<usize>,
    max_values: c_int,
    storage: Out<u8>,
    storage_size: usize,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let found = items(operation, &name, "string", bytes_of)?;
        let mut used = 0;
        for (i, string) in found.iter().take(usize::try_from(max_values).unwrap_or(0)).enumerate() {
            let place = storage.after(used);
            used += string.len();
            if used > storage_size {
                return Err(invalid!("Not enough storage to hold the requested list of strings"));
            }
            values.put_at(i, place.address());
            lengths.put_at(i, string.len());
            string.iter().enumerate().for_each(|(at, byte)| place.put_at(at, *byte));
        }
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrInt(
    operation: Option<&Operation>,
    name: Text,
    value: Out<i64>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        value.put(one(operation, &name, "int", int_of)?);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrIntList(
    operation: Option<&Operation>,
    name: Text,
    values: Out<i64>,
    places: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        values.fill(places, items(operation, &name, "int", int_of)?);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrFloat(
    operation: Option<&Operation>,
    name: Text,
    value: Out<f32>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        value.put(one(operation, &name, "float", float_of)?);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrFloatList(
    operation: Option<&Operation>,
    name: Text,
    values: Out<f32>,
    places: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        values.fill(places, items(operation, &name, "float", float_of)?);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrBool(
    operation: Option<&Operation>,
    name: Text,
    value: Out<c_uchar>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        value.put(one(operation, &name, "bool", bool_of)?);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrBoolList(
    operation: Option<&Operation>,
    name: Text,
    values: Out<c_uchar>,
    places: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        values.fill(places, items(operation, &name, "bool", bool_of)?);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrType(
    operation: Option<&Operation>,
    name: Text,
    value: Out<c_int>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        value.put(one(operation, &name, "type", type_of)?);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrTypeList(
    operation: Option<&Operation>,
    name: Text,
    values: Out<c_int>,
    places: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        values.fill(places, items(operation, &name, "type", type_of)?);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrShape(
    operation: Option<&Operation>,
    name: Text,
    dims: Out<i64>,
    places: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let shape = one(operation, &name, "shape", shape_of)?;
        dims.fill(places, shape.dims().unwrap_or_default().iter().copied());
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrShapeList(
    operation: Option<&Operation>,
    name: Text,
    dims: Out<*mut i64>,
    num_dims: Out<c_int>,
    places: c_int,
    storage: Out<i64>,
    storage_size: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let shapes = items(operation, &name, "shape", shape_of)?;
        let mut used = 0;
        for (i, shape) in shapes.iter().take(usize::try_from(places).unwrap_or(0)).enumerate() {
            let Some(known) = shape.dims() else {
                num_dims.put_at(i, -1);
                dims.put_at(i, std::ptr::null_mut());
                continue;
            };
            let place = storage.after(used);
            used += known.len();
            if used > usize::try_from(storage_size).unwrap_or(0) {
                return Err(invalid!("Not enough storage to hold the requested list of shapes"));
            }
            num_dims.put_at(i, known.len() as c_int);
            dims.put_at(i, place.address());
            place.fill(c_int::MAX, known.iter().copied());
        }
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrTensorShapeProto(
    operation: Option<&Operation>,
    name: Text,
    value: Option<&mut Buffer>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let shape = one(operation, &name, "shape", shape_of)?;
        need(value)?.put(&partial_shape_to_proto(&shape))
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrTensorShapeProtoList(
    operation: Option<&Operation>,
    name: Text,
    values: Out<Handle<Buffer>>,
    places: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let shapes = items(operation, &name, "shape", shape_of)?;
        for (i, shape) in shapes.iter().take(usize::try_from(places).unwrap_or(0)).enumerate() {
            let bytes = thalweg_proto::encode(&partial_shape_to_proto(shape));
            values.put_at(i, Handle::new(Buffer::of(&bytes)?));
        }
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrTensor(
    operation: Option<&Operation>,
    name: Text,
    value: Out<Handle<Tensor>>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        value.put(Handle::null());
        value.put(Handle::new(Tensor::of(one(operation, &name, "tensor", tensor_of)?)?));
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrTensorList(
    operation: Option<&Operation>,
    name: Text,
    values: Out<Handle<Tensor>>,
    places: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let found = items(operation, &name, "tensor", tensor_of)?;
        for (i, tensor) in found.into_iter().take(usize::try_from(places).unwrap_or(0)).enumerate() {
            values.put_at(i, Handle::new(Tensor::of(tensor)?));
        }
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_OperationGetAttrValueProto(
    operation: Option<&Operation>,
    name: Text,
    value: Option<&mut Buffer>,
    status: Option<&mut Status>,
) {
    answer(status, (), || need(value)?.put(&attr_to_proto(&attr(operation, &name)?)?));
}
