//! `MutableDenseHashTableV2` and its other forms: handles to tables in buckets, with two keys that no entry has.

use super::dense::{Dense, DenseSpec};
use super::hash_table_v2::{Kind, kernel};
use super::table::Table;
use crate::prelude::*;

pub static MUTABLE_DENSE_HASH_TABLE_V2: Op = Op {
    name: "MutableDenseHashTableV2",
    doc: "A handle to an empty, mutable table in buckets; `empty_key` and `deleted_key` mark buckets without an entry.",
    inputs: &["empty_key: key_dtype", "deleted_key: key_dtype"],
    outputs: &["table_handle: resource"],
    attrs: &[
        "container: string = ''",
        "shared_name: string = ''",
        "use_node_name_sharing: bool = false",
        "key_dtype: type",
        "value_dtype: type",
        "value_shape: shape = {}",
        "initial_num_buckets: int = 131072",
        "max_load_factor: float = 0.8",
    ],
    shape: shape_call::scalar,
    kernels: cpu!(make dense),
    ..Op::STATEFUL
};

pub static ANONYMOUS_MUTABLE_DENSE_HASH_TABLE: Op = Op {
    name: "AnonymousMutableDenseHashTable",
    doc: "A handle to a new dense table, freed with its last handle.",
    attrs: &[
        "key_dtype: type",
        "value_dtype: type",
        "value_shape: shape = {}",
        "initial_num_buckets: int = 131072",
        "max_load_factor: float = 0.8",
    ],
    ..MUTABLE_DENSE_HASH_TABLE_V2
};

/// Without a deleted key, which all dense tables need: an error, as in TensorFlow.
pub static MUTABLE_DENSE_HASH_TABLE: Op = Op {
    name: "MutableDenseHashTable",
    doc: "The older form of a dense table, without a deleted key: an error.",
    inputs: &["empty_key: key_dtype"],
    outputs: &["table_handle: Ref(string)"],
    shape: |_| Ok(vec![PartialShape::vector(2)]),
    ..MUTABLE_DENSE_HASH_TABLE_V2
};

fn dense(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let attrs = &node.attrs;
    let (key, value, shape) =
        (attrs.dtype("key_dtype")?, attrs.dtype("value_dtype")?, attrs.shape("value_shape")?);
    let value_shape = shape.to_shape().ok_or_else(|| invalid!("Shape {shape} is not fully defined"))?;
    let spec = DenseSpec {
        key,
        value,
        value_shape: value_shape.clone(),
        buckets: attrs.int("initial_num_buckets")?,
        max_load: attrs.float("max_load_factor")?,
    };
    let kind = Kind { key, value, value_shape, fixed: false, dense: true };
    kernel(node, kind, move |c, name| {
        if c.inputs.len() < 2 {
            return Err(invalid!("Unknown input name: deleted_key"));
        }
        let dense = Dense::new(&spec, c.input(0)?, c.input(1)?)?;
        Ok(Table::dense(name, spec.key, spec.value, spec.value_shape.clone(), dense))
    })
}
