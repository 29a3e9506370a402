//! Elements that are not plain bytes: strings, resource handles, variants.

use super::strings::Strings;
use super::{Storage, Tensor};
use crate::dtype::DataType;
use crate::error::{Result, internal, unimplemented};
use crate::flat::drop_flat;
use crate::invalid;
use crate::reserve;
use crate::resource::ResourceHandle;
use bytes::Bytes;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A value in a tensor of type variant: a dataset, a list of tensors, an optional.
pub trait VariantValue: Any + Send + Sync {
    /// The type name on the wire, e.g. `tensorflow::TensorList`.
    fn type_name(&self) -> &str;
    fn as_any(&self) -> &dyn Any;

    /// The value for messages and checkpoints. What decodes it is the op that takes such values: see [`EncodedVariant`].
    fn encode(&self) -> Result<EncodedVariant> {
        Err(unimplemented(format_args!("variants of type {} cannot be put into messages", self.type_name())))
    }

    /// A value of zeros, for gradients. `depth` counts the variants around this one: what contains tensors passes it on.
    fn zeros_like(&self, depth: u32) -> Result<Variant> {
        let _ = depth;
        Err(unimplemented(format_args!("zeros_like for unsupported variant {}", self.type_name())))
    }

    /// The sum of this value and another, for gradients.
    fn plus(self: Arc<Self>, other: Variant, depth: u32) -> Result<Variant> {
        let _ = depth;
        Err(unimplemented(format_args!("there is no sum of {} and {other:?}", self.type_name())))
    }
}

/// A variant value as it is stored and sent. It stays encoded until an op that knows its type name uses it.
#[derive(Clone, Default)]
pub struct EncodedVariant {
    pub type_name: String,
    pub metadata: Bytes,
    pub tensors: Vec<Tensor>,
}

impl VariantValue for EncodedVariant {
    fn type_name(&self) -> &str {
        &self.type_name
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn encode(&self) -> Result<EncodedVariant> {
        Ok(self.clone())
    }
}

/// A shared variant value, or nothing.
#[derive(Clone, Default)]
pub struct Variant(pub Option<Arc<dyn VariantValue>>);

impl Variant {
    pub fn new(value: impl VariantValue) -> Self {
        Variant(Some(Arc::new(value)))
    }

    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.0.as_ref().and_then(|v| v.as_any().downcast_ref())
    }
}

/// The value may contain variants.
impl Drop for Variant {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(drop_flat);
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.0.as_ref().map_or("empty variant", |v| v.type_name()))
    }
}

/// The element types that are not plain.
pub trait Object: Clone + Default + Send + Sync + 'static {
    const DTYPE: DataType;
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn store(items: Vec<Self>) -> Storage;
    /// The elements of a tensor of this type.
    fn of(t: &Tensor) -> Result<&[Self]>;
    /// The elements for writing; copies them first if they are shared.
    fn of_mut(t: &mut Tensor) -> Result<&mut [Self]>;
}

/// `len` items from `start`, unshared.
fn unshare<'a, O: Object>(items: &'a mut Arc<Vec<O>>, start: &mut usize, len: usize) -> Result<&'a mut [O]> {
    if Arc::get_mut(items).is_none() {
        *items = Arc::new(reserve::copied(&items[*start..*start + len])?);
        *start = 0;
    }
    let held = Arc::get_mut(items).ok_or_else(|| internal("elements became shared"))?;
    Ok(&mut held[*start..*start + len])
}

impl Object for Bytes {
    const DTYPE: DataType = DataType::String;
    #[allow(private_interfaces)]
    fn store(items: Vec<Self>) -> Storage {
        Storage::Strings(Arc::new(items.into()), 0)
    }
    fn of(t: &Tensor) -> Result<&[Self]> {
        t.strings()
    }
    fn of_mut(t: &mut Tensor) -> Result<&mut [Self]> {
        let len = t.elements();
        match &mut t.storage {
            Storage::Strings(items, start) => Strings::unshare(items, start, len),
            _ => Err(invalid!("needs a {} tensor, got {}", Self::DTYPE, t.dtype)),
        }
    }
}

impl Object for ResourceHandle {
    const DTYPE: DataType = DataType::Resource;
    #[allow(private_interfaces)]
    fn store(items: Vec<Self>) -> Storage {
        Storage::Resources(Arc::new(items), 0)
    }
    fn of(t: &Tensor) -> Result<&[Self]> {
        t.resources()
    }
    fn of_mut(t: &mut Tensor) -> Result<&mut [Self]> {
        let len = t.elements();
        match &mut t.storage {
            Storage::Resources(items, start) => unshare(items, start, len),
            _ => Err(invalid!("needs a {} tensor, got {}", Self::DTYPE, t.dtype)),
        }
    }
}

impl Object for Variant {
    const DTYPE: DataType = DataType::Variant;
    #[allow(private_interfaces)]
    fn store(items: Vec<Self>) -> Storage {
        Storage::Variants(Arc::new(items), 0)
    }
    fn of(t: &Tensor) -> Result<&[Self]> {
        t.variants()
    }
    fn of_mut(t: &mut Tensor) -> Result<&mut [Self]> {
        let len = t.elements();
        match &mut t.storage {
            Storage::Variants(items, start) => unshare(items, start, len),
            _ => Err(invalid!("needs a {} tensor, got {}", Self::DTYPE, t.dtype)),
        }
    }
}
