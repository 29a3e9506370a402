//! `IteratorToStringHandle`, `IteratorFromStringHandleV2`: iterators by name, so that a feed can select one.

use super::iterator::{Iterator, same_elements};
use crate::prelude::*;
use thalweg_core::resource::ResourceHandle;

pub static ITERATOR_TO_STRING_HANDLE: Op = Op {
    name: "IteratorToStringHandle",
    doc: "The handle of an iterator as a string.",
    inputs: &["resource_handle: resource"],
    outputs: &["string_handle: string"],
    shape: shape_call::scalar,
    kernels: cpu!(to_string),
    ..Op::STATEFUL
};

pub static ITERATOR_FROM_STRING_HANDLE_V2: Op = Op {
    name: "IteratorFromStringHandleV2",
    doc: "The iterator of a string handle; types and shapes must match, if given.",
    inputs: &["string_handle: string"],
    outputs: &["resource_handle: resource"],
    attrs: &["output_types: list(type) >= 0 = []", "output_shapes: list(shape) >= 0 = []"],
    shape: shape_call::scalar,
    kernels: cpu!(from_string),
    ..Op::STATEFUL
};

pub static ITERATOR_FROM_STRING_HANDLE: Op =
    Op { name: "IteratorFromStringHandle", ..ITERATOR_FROM_STRING_HANDLE_V2 };

pub static ITERATOR_GET_DEVICE: Op = Op {
    name: "IteratorGetDevice",
    doc: "The name of the device that an iterator is on.",
    inputs: &["resource: resource"],
    outputs: &["device: string"],
    kernels: cpu!(device),
    ..ITERATOR_TO_STRING_HANDLE
};

pub static EXPERIMENTAL_ITERATOR_GET_DEVICE: Op =
    Op { name: "ExperimentalIteratorGetDevice", ..ITERATOR_GET_DEVICE };

fn device(c: &mut OpCall<'_>) -> Result<()> {
    c.resource::<Iterator>(0)?;
    let device = c.handle(0)?.device.clone();
    c.set(0, Tensor::string(&*device));
    Ok(())
}

/// Device, container and name of the iterator. The first two follow their lengths, as `length:text`.
fn to_string(c: &mut OpCall<'_>) -> Result<()> {
    c.resource::<Iterator>(0)?;
    let h = c.handle(0)?;
    let (device, container) = (&h.device, &h.container);
    let text = format!("{}:{device}{}:{container}{}", device.len(), container.len(), h.name);
    c.set(0, Tensor::string(text));
    Ok(())
}

fn parse(text: &str) -> Option<(&str, &str, &str)> {
    fn part(text: &str) -> Option<(&str, &str)> {
        let (length, rest) = text.split_once(':')?;
        rest.split_at_checked(length.parse().ok()?)
    }
    let (device, rest) = part(text)?;
    let (container, name) = part(rest)?;
    Some((device, container, name))
}

fn from_string(c: &mut OpCall<'_>) -> Result<()> {
    let text = match c.input(0)?.strings()? {
        [one] => one.clone(),
        _ => return Err(invalid!("string_handle must be a scalar, got shape {}", c.shape(0)?)),
    };
    let names = std::str::from_utf8(&text).ok().and_then(parse);
    let (device, container, name) =
        names.ok_or_else(|| invalid!("string_handle is not the handle of an iterator: {text:?}"))?;
    let here = &*c.step.device.name;
    if device != here {
        return Err(invalid!(
            "Attempted create an iterator on device \"{here}\" from handle defined on device \"{device}\""
        ));
    }
    let iterator = c.step.device.resources.get::<Iterator>(container, name)?;
    let (types, shapes) = (c.attrs().types("output_types")?, c.attrs().shapes("output_shapes")?);
    if !types.is_empty() {
        same_elements(&iterator.types, &iterator.shapes, &types, &shapes)?;
    }
    let handle = ResourceHandle {
        device: c.step.device.name.clone(),
        container: container.into(),
        name: name.into(),
        type_name: "tensorflow::data::IteratorResource".into(),
        target: Some(iterator.into()),
        ..Default::default()
    };
    c.set(0, Tensor::from_object(handle));
    Ok(())
}
