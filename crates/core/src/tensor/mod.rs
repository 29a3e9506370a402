//! `Tensor`: a typed, shaped, immutable-unless-unique array.
//!
//! Cloning shares memory. Values of at most 16 bytes (scalars) lie in the tensor itself. Reshapes and slices along the
//! first dimension share the buffer; everything else is row-major and contiguous, so kernels see plain slices.

mod construct;
mod display;
mod elements;
mod object;
mod strings;

pub use object::{EncodedVariant, Object, Variant, VariantValue};

use crate::buffer::Buffer;
use crate::dtype::{DataType, Element};
use crate::error::{Result, internal};
use crate::invalid;
use crate::memory::Holder;
use crate::reserve;
use crate::resource::ResourceHandle;
use crate::shape::Shape;
use bytes::Bytes;
use std::sync::Arc;
use strings::Strings;

#[derive(Clone)]
pub struct Tensor {
    storage: Storage,
    shape: Shape,
    dtype: DataType,
}

#[derive(Clone)]
enum Storage {
    /// At most 16 bytes of plain elements.
    Inline([u64; 2]),
    /// Plain elements from a byte offset.
    Heap(Buffer, usize),
    /// Elements that are not plain, from an index.
    Strings(Arc<Strings>, usize),
    Resources(Arc<Vec<ResourceHandle>>, usize),
    Variants(Arc<Vec<Variant>>, usize),
}

const INLINE_BYTES: usize = 16;

impl Tensor {
    #[inline]
    pub fn dtype(&self) -> DataType {
        self.dtype
    }

    #[inline]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Number of elements.
    #[inline]
    pub fn elements(&self) -> usize {
        self.shape.elements()
    }

    #[inline]
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// Bytes of plain elements; for strings the bytes they hold.
    pub fn byte_len(&self) -> usize {
        match &self.storage {
            Storage::Strings(items, start) => {
                items.iter().skip(*start).take(self.elements()).map(Bytes::len).sum()
            }
            _ => self.elements() * self.dtype.size(),
        }
    }

    /// Whether the memory is not shared, so that it can be written.
    #[inline]
    pub fn is_unique(&self) -> bool {
        match &self.storage {
            Storage::Inline(_) => true,
            Storage::Heap(b, _) => b.is_unique(),
            Storage::Strings(a, _) => Arc::strong_count(a) == 1,
            Storage::Resources(a, _) => Arc::strong_count(a) == 1,
            Storage::Variants(a, _) => Arc::strong_count(a) == 1,
        }
    }

    /// Charges memory without a holder to this one: request payloads, strings made by kernels.
    pub fn charge_to(&self, holder: &Holder) -> Result<()> {
        match &self.storage {
            Storage::Heap(buffer, _) => buffer.charge_to(holder),
            Storage::Strings(strings, _) => strings.charge_to(holder),
            _ => Ok(()),
        }
    }

    /// Whether two tensors share memory.
    pub fn shares_memory_with(&self, other: &Tensor) -> bool {
        match (&self.storage, &other.storage) {
            (Storage::Heap(a, i), Storage::Heap(b, j)) => i == j && std::ptr::eq(a.bytes(), b.bytes()),
            _ => false,
        }
    }

    /// Reshapes; shares the memory.
    pub fn reshape(mut self, shape: Shape) -> Result<Tensor> {
        if shape.elements() != self.elements() {
            return Err(invalid!(
                "cannot view {} elements of shape {} as shape {shape} with {} elements",
                self.elements(),
                self.shape,
                shape.elements()
            ));
        }
        self.shape = shape;
        Ok(self)
    }

    /// The same bits as another plain type of the same size.
    pub fn bitcast_same_size(mut self, dtype: DataType) -> Result<Tensor> {
        if !dtype.is_plain() || dtype.size() != self.dtype.size() {
            return Err(invalid!("cannot view {} as {dtype}", self.dtype));
        }
        if dtype == DataType::Bool && self.dtype != DataType::Bool {
            return Tensor::from_bytes(dtype, self.shape.clone(), self.bytes()?);
        }
        self.dtype = dtype;
        Ok(self)
    }

    /// Reinterprets a tensor of bytes as another plain type: received payloads need no copy.
    pub fn bytes_as(self, dtype: DataType, shape: Shape) -> Result<Tensor> {
        let bytes = self.bytes()?;
        let whole = matches!(self.storage, Storage::Heap(_, 0)) && self.dtype == DataType::Uint8;
        let fits = dtype.is_plain() && shape.elements().checked_mul(dtype.size()) == Some(bytes.len());
        match whole && fits && dtype != DataType::Bool {
            true => Ok(Tensor { storage: self.storage, shape, dtype }),
            false => Tensor::from_bytes(dtype, shape, bytes),
        }
    }

    /// Rows `start..start+len` along the first dimension, sharing the memory.
    pub fn rows(&self, start: usize, len: usize) -> Result<Tensor> {
        let rows = self.shape.dim(0)?;
        if start.checked_add(len).is_none_or(|end| end > rows) {
            return Err(invalid!("rows {start}..{start}+{len} of a tensor with {rows} rows"));
        }
        let row: usize = self.shape[1..].iter().product();
        let shape = self.shape.with(0, len)?;
        let skip = start * row;
        let storage = match &self.storage {
            Storage::Inline(_) => {
                return Tensor::from_bytes(self.dtype, shape, self.bytes_at(skip, len * row)?);
            }
            Storage::Heap(b, at) => Storage::Heap(b.clone(), at + skip * self.dtype.size()),
            Storage::Strings(a, at) => Storage::Strings(a.clone(), at + skip),
            Storage::Resources(a, at) => Storage::Resources(a.clone(), at + skip),
            Storage::Variants(a, at) => Storage::Variants(a.clone(), at + skip),
        };
        Ok(Tensor { storage, shape, dtype: self.dtype })
    }

    fn bytes_at(&self, element: usize, elements: usize) -> Result<&[u8]> {
        let size = self.dtype.size();
        self.bytes()?
            .get(element * size..(element + elements) * size)
            .ok_or_else(|| internal("tensor slice past its end"))
    }

    /// The elements as bytes, row-major, in the machine's order.
    #[inline]
    pub fn bytes(&self) -> Result<&[u8]> {
        let len = self.elements() * self.dtype.size();
        match &self.storage {
            Storage::Inline(words) => Ok(&bytemuck::cast_slice(words)[..len]),
            Storage::Heap(b, at) => Ok(&b.bytes()[*at..*at + len]),
            _ => Err(invalid!("a {} tensor has no plain bytes", self.dtype)),
        }
    }

    #[inline]
    fn need<T: Element>(&self) -> Result<()> {
        if self.dtype == T::DTYPE {
            Ok(())
        } else {
            Err(invalid!("needs a {} tensor, got {}", T::DTYPE, self.dtype))
        }
    }

    /// The elements, row-major.
    #[inline]
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        self.need::<T>()?;
        Ok(elements::typed(self.bytes()?))
    }

    /// The elements for writing; copies them first if the memory is shared.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        self.need::<T>()?;
        Ok(elements::typed_mut(self.bytes_mut()?))
    }

    /// The bytes for writing; copies them first if the memory is shared.
    pub fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        if !self.is_unique() {
            *self = Tensor::from_bytes(self.dtype, self.shape.clone(), self.bytes()?)?;
        }
        let len = self.elements() * self.dtype.size();
        match &mut self.storage {
            Storage::Inline(words) => Ok(&mut bytemuck::cast_slice_mut(words)[..len]),
            Storage::Heap(b, at) => {
                let at = *at;
                b.bytes_mut()
                    .map(|bytes| &mut bytes[at..at + len])
                    .ok_or_else(|| internal("buffer became shared"))
            }
            _ => Err(invalid!("a {} tensor has no plain bytes", self.dtype)),
        }
    }

    /// The value of a scalar of this type; `None` for any other tensor.
    #[inline]
    pub fn as_scalar<T: Element>(&self) -> Option<T> {
        match &self.storage {
            Storage::Inline(words) if self.dtype == T::DTYPE && self.shape.is_scalar() => {
                Some(elements::first(words))
            }
            _ => None,
        }
    }

    /// The one element of a scalar (or of any tensor with one element).
    #[inline]
    pub fn to_scalar<T: Element>(&self) -> Result<T> {
        match self.as_slice::<T>()? {
            [one] => Ok(*one),
            _ => Err(invalid!("needs a scalar, got shape {}", self.shape)),
        }
    }

    /// Overwrites a scalar of this type; whether it is one.
    #[inline]
    pub fn set_scalar<T: Element>(&mut self, value: T) -> bool {
        match &mut self.storage {
            Storage::Inline(words) if self.dtype == T::DTYPE && self.shape.is_scalar() => {
                *words = construct::words_of(value);
                true
            }
            _ => false,
        }
    }

    pub fn strings(&self) -> Result<&[Bytes]> {
        match &self.storage {
            Storage::Strings(a, at) => Ok(&a[*at..*at + self.elements()]),
            _ => Err(invalid!("needs a string tensor, got {}", self.dtype)),
        }
    }

    pub fn resources(&self) -> Result<&[ResourceHandle]> {
        match &self.storage {
            Storage::Resources(a, at) => Ok(&a[*at..*at + self.elements()]),
            _ => Err(invalid!("needs a resource tensor, got {}", self.dtype)),
        }
    }

    pub fn variants(&self) -> Result<&[Variant]> {
        match &self.storage {
            Storage::Variants(a, at) => Ok(&a[*at..*at + self.elements()]),
            _ => Err(invalid!("needs a variant tensor, got {}", self.dtype)),
        }
    }

    /// The variants by value: moved out if the memory is not shared, cloned otherwise.
    pub fn into_variants(self) -> Result<Vec<Variant>> {
        let elements = self.elements();
        match self.storage {
            Storage::Variants(a, 0) if a.len() == elements => {
                Arc::try_unwrap(a).or_else(|shared| reserve::copied(&shared))
            }
            _ => reserve::copied(self.variants()?),
        }
    }

    /// Elements as `i64`, for tensors of indices, axes and shapes that may be int32 or int64 (or narrower).
    pub fn to_i64s(&self) -> Result<Vec<i64>> {
        match self.dtype {
            DataType::Int32 => widened(self.as_slice::<i32>()?),
            DataType::Int64 => reserve::copied(self.as_slice::<i64>()?),
            DataType::Int16 => widened(self.as_slice::<i16>()?),
            DataType::Int8 => widened(self.as_slice::<i8>()?),
            DataType::Uint8 => widened(self.as_slice::<u8>()?),
            DataType::Uint16 => widened(self.as_slice::<u16>()?),
            DataType::Uint32 => widened(self.as_slice::<u32>()?),
            other => Err(invalid!("needs integers, got {other}")),
        }
    }

    /// Bitwise equality of plain tensors, elementwise equality of strings.
    pub fn same_bits(&self, other: &Tensor) -> bool {
        self.dtype == other.dtype
            && self.shape == other.shape
            && match (self.bytes(), other.bytes()) {
                (Ok(a), Ok(b)) => a == b,
                _ => matches!((self.strings(), other.strings()), (Ok(a), Ok(b)) if a == b),
            }
    }
}

fn widened<T: Copy + Into<i64>>(values: &[T]) -> Result<Vec<i64>> {
    let mut wide = reserve::with_capacity(values.len())?;
    wide.extend(values.iter().map(|v| (*v).into()));
    Ok(wide)
}

#[cfg(test)]
mod tests;
