//! Constructors of tensors.

use super::{INLINE_BYTES, Object, Storage, Tensor, elements};
use crate::buffer::Buffer;
use crate::dtype::{DataType, Element, bf16, f16};
use crate::error::Result;
use crate::invalid;
use crate::reserve;
use crate::shape::Shape;
use num_complex::{Complex32, Complex64};
use std::sync::Arc;

/// A value as a tensor stores it inline.
#[inline]
pub(super) fn words_of<T: Element>(value: T) -> [u64; 2] {
    let mut words = [0u64; 2];
    let bytes = elements::untyped(std::slice::from_ref(&value));
    bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
    words
}

impl Tensor {
    #[inline]
    pub fn scalar<T: Element>(value: T) -> Tensor {
        Tensor { storage: Storage::Inline(words_of(value)), shape: Shape::scalar(), dtype: T::DTYPE }
    }

    /// A scalar of any numeric type.
    pub fn number(value: f64, dtype: DataType) -> Result<Tensor> {
        Ok(match dtype {
            DataType::Float => Tensor::scalar(value as f32),
            DataType::Double => Tensor::scalar(value),
            DataType::Half => Tensor::scalar(f16::from_f64(value)),
            DataType::Bfloat16 => Tensor::scalar(bf16::from_f64(value)),
            DataType::Int8 => Tensor::scalar(value as i8),
            DataType::Int16 => Tensor::scalar(value as i16),
            DataType::Int32 => Tensor::scalar(value as i32),
            DataType::Int64 => Tensor::scalar(value as i64),
            DataType::Uint8 => Tensor::scalar(value as u8),
            DataType::Uint16 => Tensor::scalar(value as u16),
            DataType::Uint32 => Tensor::scalar(value as u32),
            DataType::Uint64 => Tensor::scalar(value as u64),
            DataType::Bool => Tensor::scalar(value != 0.0),
            DataType::Complex64 => Tensor::scalar(Complex32::new(value as f32, 0.0)),
            DataType::Complex128 => Tensor::scalar(Complex64::new(value, 0.0)),
            other => return Err(invalid!("no number of type {other}")),
        })
    }

    /// A plain tensor whose elements are initialised but arbitrary, for a kernel that writes all of them.
    /// Tensors of strings and other objects start out empty strings, null handles and null variants.
    pub fn uninit(dtype: DataType, shape: Shape) -> Result<Tensor> {
        let elements = shape.elements();
        let storage = match dtype {
            DataType::String => Storage::Strings(Arc::new(objects(elements)?.into()), 0),
            DataType::Resource => Storage::Resources(Arc::new(objects(elements)?), 0),
            DataType::Variant => Storage::Variants(Arc::new(objects(elements)?), 0),
            plain => match elements.checked_mul(plain.size()) {
                Some(bytes) if bytes <= INLINE_BYTES => Storage::Inline([0; 2]),
                Some(bytes) if dtype == DataType::Bool => Storage::Heap(Buffer::zeroed(bytes)?, 0),
                Some(bytes) => Storage::Heap(Buffer::new(bytes)?, 0),
                None => return Err(invalid!("a {dtype} tensor of shape {shape} is too large")),
            },
        };
        Ok(Tensor { storage, shape, dtype })
    }

    pub fn zeros(dtype: DataType, shape: Shape) -> Result<Tensor> {
        let mut t = Tensor::uninit(dtype, shape)?;
        if dtype.is_plain() {
            t.bytes_mut()?.fill(0);
        }
        Ok(t)
    }

    /// From bytes in the machine's order; bytes of bools other than 0 become 1.
    pub fn from_bytes(dtype: DataType, shape: Shape, bytes: &[u8]) -> Result<Tensor> {
        let need = shape.elements().checked_mul(dtype.size());
        if !dtype.is_plain() || need != Some(bytes.len()) {
            return Err(invalid!(
                "{} bytes for a {dtype} tensor of shape {shape}, which needs {}",
                bytes.len(),
                need.unwrap_or(usize::MAX)
            ));
        }
        let mut t = Tensor::uninit(dtype, shape)?;
        let out = t.bytes_mut()?;
        out.copy_from_slice(bytes);
        if dtype == DataType::Bool {
            out.iter_mut().for_each(|b| *b = (*b != 0) as u8);
        }
        Ok(t)
    }

    pub fn from_slice<T: Element>(shape: Shape, values: &[T]) -> Result<Tensor> {
        if values.len() != shape.elements() {
            return Err(invalid!(
                "{} values for shape {shape}, which has {}",
                values.len(),
                shape.elements()
            ));
        }
        let mut t = Tensor::uninit(T::DTYPE, shape)?;
        t.as_mut_slice::<T>()?.copy_from_slice(values);
        Ok(t)
    }

    pub fn vector<T: Element>(values: &[T]) -> Result<Tensor> {
        Tensor::from_slice(Shape::vector(values.len()), values)
    }

    /// A tensor filled by `write`, which must set every element.
    pub fn build<T: Element>(shape: Shape, write: impl FnOnce(&mut [T])) -> Result<Tensor> {
        let mut t = Tensor::uninit(T::DTYPE, shape)?;
        write(t.as_mut_slice::<T>()?);
        Ok(t)
    }

    pub fn full<T: Element>(shape: Shape, value: T) -> Result<Tensor> {
        Tensor::build(shape, |out: &mut [T]| out.fill(value))
    }

    /// A tensor of strings, resource handles or variants.
    pub fn from_objects<O: Object>(shape: Shape, items: Vec<O>) -> Result<Tensor> {
        if items.len() != shape.elements() {
            return Err(invalid!("{} values for shape {shape}, which has {}", items.len(), shape.elements()));
        }
        Ok(Tensor { storage: O::store(items), shape, dtype: O::DTYPE })
    }

    pub fn from_object<O: Object>(item: O) -> Tensor {
        Tensor { storage: O::store(vec![item]), shape: Shape::scalar(), dtype: O::DTYPE }
    }

    /// A tensor of strings, resource handles or variants, each made from its index.
    pub fn build_objects<O: Object>(shape: Shape, item: impl FnMut(usize) -> Result<O>) -> Result<Tensor> {
        let items = reserve::try_collect((0..shape.elements()).map(item))?;
        Tensor::from_objects(shape, items)
    }

    pub fn string(text: impl Into<Vec<u8>>) -> Tensor {
        Tensor::from_object(bytes::Bytes::from(text.into()))
    }
}

/// Default objects, `n` of them if memory allows.
fn objects<O: Object>(n: usize) -> Result<Vec<O>> {
    let mut items =
        reserve::with_capacity(n).map_err(|e| e.context(format_args!("{n} elements of {}", O::DTYPE)))?;
    items.resize_with(n, O::default);
    Ok(items)
}
