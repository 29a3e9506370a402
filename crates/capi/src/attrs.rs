//! Values of attrs as C passes them: for operations of graphs and of eager execution alike.

use crate::buffer::decode;
use crate::pointers::{Array, Text};
use bytes::Bytes;
use std::ffi::c_int;
use thalweg_core::attr::{Attr, Func};
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Error, Result};
use thalweg_core::invalid;
use thalweg_core::shape::PartialShape;
use thalweg_graph::convert::{attr_from_proto, partial_shape_from_proto};
use thalweg_proto::{AttrValue, TensorShapeProto};

/// What has attrs.
pub trait Values {
    fn add_attr(&mut self, name: &str, value: Attr);
    /// Keeps a mistake for the end.
    fn mistake(&mut self, e: Error);

    fn put(&mut self, name: &Text, value: impl FnOnce() -> Result<Attr>) -> Result<()> {
        let name = name.str()?;
        match value() {
            Ok(value) => self.add_attr(name, value),
            Err(e) => self.mistake(e.context(format_args!("attr '{name}'"))),
        }
        Ok(())
    }
}

pub fn string(value: &Array<u8>, length: usize) -> Result<Attr> {
    Ok(Attr::Str(Bytes::copy_from_slice(value.slice(length)?)))
}

pub fn strings(values: &Array<Array<u8>>, lengths: &Array<usize>, count: c_int) -> Result<Attr> {
    let pairs = values.slice(count)?.iter().zip(lengths.slice(count)?);
    Ok(Attr::List(pairs.map(|(value, length)| string(value, *length)).collect::<Result<_>>()?))
}

pub fn list<T>(values: &Array<T>, count: c_int, attr: impl Fn(&T) -> Result<Attr>) -> Result<Attr> {
    Ok(Attr::List(values.slice(count)?.iter().map(attr).collect::<Result<_>>()?))
}

pub fn data_type(number: c_int) -> Result<Attr> {
    // A reference type means its base type: references are a property of outputs.
    let base = if number > 100 { number - 100 } else { number };
    let known = DataType::from_wire(base).ok_or_else(|| invalid!("unknown data type number {number}"))?;
    Ok(Attr::Type(known))
}

pub fn function(name: &Array<u8>, length: usize) -> Result<Attr> {
    let name = std::str::from_utf8(name.slice(length)?).map_err(|_| invalid!("a name is not UTF-8 text"))?;
    Ok(Attr::Func(Func::named(name)))
}

/// A negative number of dimensions stands for an unknown one.
pub fn partial_shape(dims: &Array<i64>, num_dims: c_int) -> Result<PartialShape> {
    match num_dims {
        ..0 => Ok(PartialShape::unknown()),
        _ => PartialShape::new(dims.slice(num_dims)?),
    }
}

pub fn shape(dims: &Array<i64>, num_dims: c_int) -> Result<Attr> {
    partial_shape(dims, num_dims).map(Attr::Shape)
}

pub fn shapes(dims: &Array<Array<i64>>, num_dims: &Array<c_int>, count: c_int) -> Result<Attr> {
    let pairs = dims.slice(count)?.iter().zip(num_dims.slice(count)?);
    Ok(Attr::List(pairs.map(|(dims, n)| shape(dims, *n)).collect::<Result<_>>()?))
}

pub fn shape_proto(proto: &Array<u8>, length: usize) -> Result<Attr> {
    let proto: TensorShapeProto = decode(proto.slice(length)?, "TensorShapeProto")?;
    partial_shape_from_proto(&proto).map(Attr::Shape)
}

pub fn value_proto(proto: &Array<u8>, length: usize) -> Result<Attr> {
    attr_from_proto(&decode::<AttrValue>(proto.slice(length)?, "AttrValue")?)
}
