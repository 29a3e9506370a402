//! `TF_Tensor`: elements in memory of the caller or of ours, with a type and a shape.
//!
//! The engine's tensors never change, and those of C programs do. So a value is copied where it enters the engine, and copied where it leaves
//! if somebody else has it too; results that nobody else has are handed over as they are.

use crate::buffer::Buffer;
use crate::pointers::{Array, need};
use crate::status::{Status, answer, quiet};
use crate::tstring::TString;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::shape::Shape;
use thalweg_core::tensor;
use thalweg_io::wire::tensor_from_proto;
use thalweg_proto::TensorProto;

pub type Deallocator = extern "C" fn(data: *mut c_void, length: usize, arg: *mut c_void);

pub struct Tensor {
    /// As C numbers types; it may be one that the engine does not have.
    dtype: c_int,
    dims: Vec<i64>,
    data: *mut c_void,
    length: usize,
    memory: Arc<Memory>,
}

/// Who owns the elements.
enum Memory {
    /// A buffer of the engine that nobody else has, kept until it is dropped.
    Engine {
        _buffer: tensor::Tensor,
    },
    Caller {
        data: *mut c_void,
        length: usize,
        deallocator: Option<Deallocator>,
        arg: *mut c_void,
    },
    Strings(Vec<TString>),
    /// Resources and variants, which C programs only pass on.
    Objects(tensor::Tensor),
}

// SAFETY: C programs hand tensors from thread to thread. Memory that tensors share is followed only through the tensors, whose users see to it that
// nobody writes what another reads, and freed once, by whoever drops the last of them.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Drop for Memory {
    fn drop(&mut self) {
        match self {
            Memory::Caller { data, length, deallocator: Some(deallocator), arg } => {
                deallocator(*data, *length, *arg);
            }
            Memory::Strings(strings) => strings.iter_mut().for_each(TString::free),
            _ => {}
        }
    }
}

/// The size of an element as C programs see it; 0 if it has none.
fn element_size(dtype: c_int) -> usize {
    match DataType::from_wire(dtype) {
        Some(DataType::String) => size_of::<TString>(),
        Some(t) => t.size(),
        None => 0,
    }
}

fn shape_of(dims: &[i64]) -> Result<Shape> {
    Shape::from_i64(dims)
}

/// Bytes in a fresh buffer, which is aligned as tensors are.
fn buffer(length: usize) -> Result<tensor::Tensor> {
    // Short tensors lie in themselves, which moves.
    tensor::Tensor::uninit(DataType::Uint8, Shape::new(&[length.max(64)])?)
}

impl Tensor {
    /// A tensor of the engine for C.
    pub fn of(value: tensor::Tensor) -> Result<Tensor> {
        let (dtype, dims) = (value.dtype(), value.shape().to_i64().to_vec());
        let wire = dtype.wire();
        match dtype {
            DataType::String => {
                let mut strings: Vec<TString> = value.strings()?.iter().map(|s| TString::of(s)).collect();
                let data = strings.as_mut_ptr().cast();
                let length = strings.len() * size_of::<TString>();
                Ok(Tensor { dtype: wire, dims, data, length, memory: Arc::new(Memory::Strings(strings)) })
            }
            DataType::Resource | DataType::Variant => {
                let memory = Arc::new(Memory::Objects(value));
                Ok(Tensor { dtype: wire, dims, data: std::ptr::null_mut(), length: 0, memory })
            }
            _ => {
                let bytes = value.bytes()?;
                let length = bytes.len();
                let mut own = match value.is_unique() && length > 64 {
                    true => value,
                    false => {
                        let mut copy = buffer(length)?;
                        copy.bytes_mut()?[..length].copy_from_slice(bytes);
                        copy
                    }
                };
                let data = own.bytes_mut()?.as_mut_ptr().cast();
                Ok(Tensor {
                    dtype: wire,
                    dims,
                    data,
                    length,
                    memory: Arc::new(Memory::Engine { _buffer: own }),
                })
            }
        }
    }

    /// The engine's tensor of these elements: a copy.
    pub fn value(&self) -> Result<tensor::Tensor> {
        if let Memory::Objects(value) = &*self.memory {
            return value.clone().reshape(shape_of(&self.dims)?);
        }
        let dtype = self.data_type()?;
        let shape = shape_of(&self.dims)?;
        let size = shape.elements().checked_mul(element_size(self.dtype));
        let size = size.filter(|s| *s <= self.length);
        let size = size.ok_or_else(|| {
            invalid!("a tensor of shape {shape} of {dtype} does not fit in its {} bytes", self.length)
        })?;
        match dtype {
            DataType::String => {
                let strings = self.strings(shape.elements())?;
                let item = |i: usize| {
                    Ok(bytes::Bytes::copy_from_slice(strings.get(i).map(TString::bytes).unwrap_or_default()))
                };
                tensor::Tensor::build_objects(shape, item)
            }
            DataType::Resource | DataType::Variant => {
                Err(invalid!("a tensor of type {dtype} can only be one that a session returned"))
            }
            _ => tensor::Tensor::from_bytes(dtype, shape, &self.bytes()[..size]),
        }
    }

    pub fn data_type(&self) -> Result<DataType> {
        DataType::from_wire(self.dtype).ok_or_else(|| invalid!("unknown data type number {}", self.dtype))
    }

    fn bytes(&self) -> &[u8] {
        if self.data.is_null() {
            return &[];
        }
        // SAFETY: `length` bytes, as whoever made the tensor promised.
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.length) }
    }

    fn strings(&self, count: usize) -> Result<&[TString]> {
        let data = self.data.cast::<TString>();
        if count == 0 {
            return Ok(&[]);
        }
        if data.is_null() || !data.is_aligned() || self.length / size_of::<TString>() < count {
            return Err(invalid!("a tensor of {count} strings has no place for them"));
        }
        // SAFETY: `length` bytes of strings, as whoever made the tensor promised.
        Ok(unsafe { std::slice::from_raw_parts(data, count) })
    }

    fn elements(&self) -> i64 {
        self.dims.iter().copied().fold(1, i64::saturating_mul)
    }
}

/// A new tensor with its place, or none: too many dimensions or too large ones, or too few bytes.
fn tensor(dtype: c_int, dims: &[i64], data: *mut c_void, length: usize, memory: Memory) -> Option<Tensor> {
    let shape = shape_of(dims).ok()?;
    let needed = shape.elements().checked_mul(element_size(dtype))?;
    let fits = needed <= length && (needed == 0 || !data.is_null());
    fits.then(|| Tensor { dtype, dims: dims.to_vec(), data, length, memory: Arc::new(memory) })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DataTypeSize(dtype: c_int) -> usize {
    match DataType::from_wire(dtype) {
        Some(DataType::String) | None => 0,
        Some(t) => t.size(),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NewTensor(
    dtype: c_int,
    dims: Array<i64>,
    num_dims: c_int,
    data: *mut c_void,
    length: usize,
    deallocator: Option<Deallocator>,
    arg: *mut c_void,
) -> Option<Box<Tensor>> {
    // The memory is freed if the tensor cannot be made.
    let memory = Memory::Caller { data, length, deallocator, arg };
    quiet(None, || Ok(tensor(dtype, dims.slice(num_dims)?, data, length, memory).map(Box::new)))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_TensorDefaultAlignment() -> usize {
    64
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_AllocateTensor(
    dtype: c_int,
    dims: Array<i64>,
    num_dims: c_int,
    length: usize,
) -> Option<Box<Tensor>> {
    quiet(None, || {
        let mut memory = buffer(length)?;
        let bytes = memory.bytes_mut()?;
        if dtype == DataType::String.wire() {
            // Empty strings.
            bytes.fill(0);
        }
        let data = bytes.as_mut_ptr().cast();
        Ok(tensor(dtype, dims.slice(num_dims)?, data, length, Memory::Engine { _buffer: memory })
            .map(Box::new))
    })
}

/// The memory in another tensor, if this is its only owner; the old one is as it was.
#[unsafe(no_mangle)]
pub extern "C" fn TF_TensorMaybeMove(from: Option<&Tensor>) -> Option<Box<Tensor>> {
    let from = from?;
    let ours = !matches!(*from.memory, Memory::Caller { .. });
    (ours && Arc::strong_count(&from.memory) == 1).then(|| Box::new(share(from)))
}

/// Another tensor over the same memory.
pub fn share(from: &Tensor) -> Tensor {
    Tensor { dims: from.dims.clone(), memory: from.memory.clone(), ..*from }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteTensor(tensor: Option<Box<Tensor>>) {
    quiet((), || {
        drop(tensor);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_TensorType(tensor: Option<&Tensor>) -> c_int {
    tensor.map_or(0, |t| t.dtype)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetShape(tensor: Option<&mut Tensor>, dims: Array<i64>, num_dims: c_int) {
    if let (Some(tensor), Ok(dims)) = (tensor, dims.slice(num_dims)) {
        tensor.dims = dims.to_vec();
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NumDims(tensor: Option<&Tensor>) -> c_int {
    tensor.map_or(-1, |t| t.dims.len() as c_int)
}

/// -1 where there is no such dimension.
#[unsafe(no_mangle)]
pub extern "C" fn TF_Dim(tensor: Option<&Tensor>, index: c_int) -> i64 {
    let dim = |t: &Tensor| t.dims.get(usize::try_from(index).ok()?).copied();
    tensor.and_then(dim).unwrap_or(-1)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_TensorByteSize(tensor: Option<&Tensor>) -> usize {
    tensor.map_or(0, |t| t.length)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_TensorData(tensor: Option<&Tensor>) -> *mut c_void {
    tensor.map_or(std::ptr::null_mut(), |t| t.data)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_TensorElementCount(tensor: Option<&Tensor>) -> i64 {
    tensor.map_or(0, Tensor::elements)
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_TensorIsAligned(tensor: Option<&Tensor>) -> bool {
    tensor.is_some_and(|t| t.data.addr().is_multiple_of(64))
}

/// Makes `to` a view of the bytes of `from`.
#[unsafe(no_mangle)]
pub extern "C" fn TF_TensorBitcastFrom(
    from: Option<&Tensor>,
    dtype: c_int,
    to: Option<&mut Tensor>,
    dims: Array<i64>,
    num_dims: c_int,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let (from, to) = (need(from)?, need(to)?);
        let shape = shape_of(dims.slice(num_dims)?)?;
        let plain = |t: c_int| DataType::from_wire(t).is_some_and(DataType::is_plain);
        let size = shape.elements().checked_mul(element_size(dtype));
        let old = usize::try_from(from.elements()).ok().and_then(|n| n.checked_mul(element_size(from.dtype)));
        if !plain(dtype) || !plain(from.dtype) || size.is_none() || size != old {
            return Err(invalid!(
                "cannot view a tensor of {} bytes as shape {shape} of type {dtype}",
                from.length
            ));
        }
        *to = Tensor { dtype, dims: shape.to_i64().to_vec(), ..share(from) };
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_TensorFromProto(
    from: Option<&Buffer>,
    to: Option<&mut Tensor>,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        let proto: TensorProto = need(from)?.decode("tensor")?;
        *need(to)? = Tensor::of(tensor_from_proto(&proto)?)?;
        Ok(())
    });
}
