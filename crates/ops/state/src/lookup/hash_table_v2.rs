//! `HashTableV2`, `MutableHashTableV2`, `MutableHashTableOfTensorsV2`: handles to tables.

use super::table::Table;
use crate::named::{OwnedResource, ResourceKey};
use crate::prelude::*;
use thalweg_core::resource::ResourceHandle;

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
    let (key, value) = (node.attrs.dtype("key_dtype")?, node.attrs.dtype("value_dtype")?);
    if !(key.is_plain() || key == DataType::String) {
        return Err(unimplemented(format_args!("tables with keys of type {key}")));
    }
    let kind = Kind { key, value, value_shape: value_shape.clone(), fixed, dense: false };
    kernel(node, kind, move |_, name| Ok(Table::new(name, key, value, value_shape.clone(), fixed)))
}

/// What the nodes of one table must agree on.
pub struct Kind {
    pub key: DataType,
    pub value: DataType,
    pub value_shape: Shape,
    pub fixed: bool,
    pub dense: bool,
}

impl Kind {
    fn check(&self, t: &Table) -> Result<()> {
        if (t.key, t.value) != (self.key, self.value) {
            return Err(invalid!(
                "Conflicting key/value dtypes {}->{} with {}-{} for table {}",
                self.key,
                self.value,
                t.key,
                t.value,
                t.name
            ));
        }
        if (t.fixed, t.is_dense()) != (self.fixed, self.dense) || t.value_shape != self.value_shape {
            return Err(invalid!("table {} is of another kind than this node asks for", t.name));
        }
        Ok(())
    }
}

/// The kernel of a node that makes a table, or finds the one of its name. An anonymous table is new in each call, and freed with its
/// handle.
pub fn kernel(
    node: &KernelNode,
    kind: Kind,
    make: impl Fn(&OpCall<'_>, &str) -> Result<Table> + Send + Sync + 'static,
) -> Result<Box<dyn Kernel>> {
    let Some(by_name) = node.attrs.get("use_node_name_sharing") else {
        return Ok(Box::new(move |c: &mut OpCall<'_>| {
            let name = format!("anonymous_{}_{}_{}", c.node.name, c.step.step_id, c.step.fresh());
            let table = Arc::new(make(c, &name)?);
            c.set(0, anonymous_handle(c, table));
            Ok(())
        }));
    };
    let key = match *by_name == Attr::Bool(true) {
        true => ResourceKey::of(node)?,
        false => ResourceKey::own(node)?,
    };
    let owned = OwnedResource::with_key(node, key);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let t = owned.get(c, |name| make(c, name))?;
        kind.check(&t)?;
        owned.output_handle(c, t);
        Ok(())
    }))
}

fn anonymous_handle(c: &OpCall<'_>, table: Arc<Table>) -> Tensor {
    use thalweg_core::resource::Resource;
    Tensor::from_object(ResourceHandle {
        device: c.step.device.name.clone(),
        container: c.step.device.resources.default_container().clone(),
        name: table.name.as_str().into(),
        type_name: table.kind().into(),
        target: Some(table.into()),
        ..Default::default()
    })
}
