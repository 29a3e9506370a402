//! `TFE_OpSetAttr*`.

use super::op::Call;
use crate::attrs::{self, Values};
use crate::pointers::{Array, Handle, Text, need};
use crate::status::{Status, answer, quiet};
use crate::tensor::Tensor;
use std::ffi::{c_int, c_uchar};
use thalweg_core::attr::{Attr, Func};
use thalweg_core::error::Result;

/// Changes the call; a mistake is kept for its execution.
fn with(op: Option<&mut Call>, change: impl FnOnce(&mut Call) -> Result<()>) {
    quiet((), || {
        if let Some(op) = op
            && let Err(e) = change(op)
        {
            op.mistake(e);
        }
        Ok(())
    });
}

/// A function with the attrs that it is called with.
fn function(op: &Call) -> Attr {
    Attr::Func(Func { name: op.text().to_string(), attrs: op.attrs.clone() })
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrString(op: Option<&mut Call>, name: Text, value: Array<u8>, length: usize) {
    with(op, |op| op.put(&name, || attrs::string(&value, length)));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrInt(op: Option<&mut Call>, name: Text, value: i64) {
    with(op, |op| op.put(&name, || Ok(value.into())));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrFloat(op: Option<&mut Call>, name: Text, value: f32) {
    with(op, |op| op.put(&name, || Ok(value.into())));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrBool(op: Option<&mut Call>, name: Text, value: c_uchar) {
    with(op, |op| op.put(&name, || Ok((value != 0).into())));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrType(op: Option<&mut Call>, name: Text, value: c_int) {
    with(op, |op| op.put(&name, || attrs::data_type(value)));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrShape(
    op: Option<&mut Call>,
    name: Text,
    dims: Array<i64>,
    num_dims: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let shape = attrs::shape(&dims, num_dims)?;
        need(op)?.put(&name, || Ok(shape))
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrFunction(op: Option<&mut Call>, name: Text, value: Option<&Call>) {
    with(op, |op| op.put(&name, || Ok(function(need(value)?))));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrFunctionName(
    op: Option<&mut Call>,
    name: Text,
    value: Array<u8>,
    length: usize,
) {
    with(op, |op| op.put(&name, || attrs::function(&value, length)));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrTensor(
    op: Option<&mut Call>,
    name: Text,
    value: Option<&Tensor>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let value = need(value)?.value()?;
        need(op)?.put(&name, || Ok(value.into()))
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrStringList(
    op: Option<&mut Call>,
    name: Text,
    values: Array<Array<u8>>,
    lengths: Array<usize>,
    count: c_int,
) {
    with(op, |op| op.put(&name, || attrs::strings(&values, &lengths, count)));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrIntList(op: Option<&mut Call>, name: Text, values: Array<i64>, count: c_int) {
    with(op, |op| op.put(&name, || attrs::list(&values, count, |v| Ok(Attr::Int(*v)))));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrFloatList(
    op: Option<&mut Call>,
    name: Text,
    values: Array<f32>,
    count: c_int,
) {
    with(op, |op| op.put(&name, || attrs::list(&values, count, |v| Ok(Attr::Float(*v)))));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrBoolList(
    op: Option<&mut Call>,
    name: Text,
    values: Array<c_uchar>,
    count: c_int,
) {
    with(op, |op| op.put(&name, || attrs::list(&values, count, |v| Ok(Attr::Bool(*v != 0)))));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrTypeList(
    op: Option<&mut Call>,
    name: Text,
    values: Array<c_int>,
    count: c_int,
) {
    with(op, |op| op.put(&name, || attrs::list(&values, count, |v| attrs::data_type(*v))));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrShapeList(
    op: Option<&mut Call>,
    name: Text,
    dims: Array<Array<i64>>,
    num_dims: Array<c_int>,
    count: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let shapes = attrs::shapes(&dims, &num_dims, count)?;
        need(op)?.put(&name, || Ok(shapes))
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrFunctionList(
    op: Option<&mut Call>,
    name: Text,
    values: Array<Handle<Call>>,
    count: c_int,
) {
    with(op, |op| op.put(&name, || attrs::list(&values, count, |v| Ok(function(v.need()?)))));
}

#[unsafe(no_mangle)]
pub extern "C" fn TFE_OpSetAttrValueProto(
    op: Option<&mut Call>,
    name: Text,
    proto: Array<u8>,
    length: usize,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let value = attrs::value_proto(&proto, length)?;
        need(op)?.put(&name, || Ok(value))
    });
}
