//! `HashTableV2`, `MutableHashTableV2`, `MutableHashTableOfTensorsV2`: handles to tables.

use super::table::Table;
use crate::named::{CachedResource, ResourceKey};
use crate::prelude::*;

pub static HASH_TABLE_V2: Op = Op {
    name: "HashTableV2",
    doc: "A handle to a table that is immutable once filled.",
    outputs: &["table_handle: resource"],
    attrs: &[
        "container: string = ''",
        "shared_name: string = ''",
        "use_node_name_sharing: bool = false",
        "key_dtype: type",
        "value_dtype: type",
    ],
    shape: shape_call::scalar,
    kernels: cpu!(make fixed),
    ..Op::STATEFUL
};

pub static MUTABLE_HASH_TABLE_V2: Op = Op {
    name: "MutableHashTableV2",
    doc: "A handle to an empty, mutable table.",
    kernels: cpu!(make mutable),
    ..HASH_TABLE_V2
};

pub static MUTABLE_HASH_TABLE_OF_TENSORS_V2: Op = Op {
    name: "MutableHashTableOfTensorsV2",
    doc: "A handle to an empty table whose values are tensors of one shape.",
    attrs: &[
        "container: string = ''",
        "shared_name: string = ''",
        "use_node_name_sharing: bool = false",
        "key_dtype: type",
        "value_dtype: type",
        "value_shape: shape = {}",
    ],
    kernels: cpu!(make of_tensors),
    ..HASH_TABLE_V2
};

fn fixed(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    table(node, Shape::scalar(), true)
}

fn mutable(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    table(node, Shape::scalar(), false)
}

fn of_tensors(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let shape = node.attrs.shape("value_shape")?;
    match shape.to_shape() {
        Some(shape) if shape.rank() != 1 => {
            Err(invalid!("Default value must be a vector, got shape {shape}"))
        }
        Some(shape) => table(node, shape, false),
        None => Err(invalid!("value_shape must be fully known, got {shape}")),
    }
}

fn table(node: &KernelNode, value_shape: Shape, fixed: bool) -> Result<Box<dyn Kernel>> {
    let by_name = node.attrs.bool("use_node_name_sharing")?;
    let cached = CachedResource::new(if by_name { ResourceKey::of(node)? } else { ResourceKey::own(node)? });
    let (key, value) = (node.attrs.dtype("key_dtype")?, node.attrs.dtype("value_dtype")?);
    if !(key.is_plain() || key == DataType::String) {
        return Err(unimplemented(format_args!("tables with keys of type {key}")));
    }
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let t = cached.get(&c.step.device.resources, |name| {
            Ok(Table::new(name, key, value, value_shape.clone(), fixed))
        })?;
        if (t.key, t.value) != (key, value) {
            return Err(invalid!(
                "Conflicting key/value dtypes {key}->{value} with {}-{} for table {}",
                t.key,
                t.value,
                t.name
            ));
        }
        if t.fixed != fixed || t.value_shape != value_shape {
            return Err(invalid!("table {} is of another kind than this node asks for", t.name));
        }
        c.set(0, cached.handle(c, t, &[]));
        Ok(())
    }))
}
