//! Arrays of numpy from tensors and back. The one module that reads and hands out memory as numpy sees it.

use crate::errors::OrRaise;
use numpy::npyffi::{NPY_ARRAY_WRITEABLE, NPY_TYPES, NpyTypes, PY_ARRAY_API, PyArrayObject, npy_intp};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use thalweg_client::{DataType, Result, Shape, Tensor};

/// Keeps the memory of a tensor alive, as the base object of an array.
#[pyclass(frozen, module = "thalweg._engine")]
struct Memory {
    tensor: Tensor,
}

/// Results of fewer bytes are copied: an array with a base object costs more than that.
const COPIED: usize = 4096;

/// Copies a contiguous array, whose elements are as those of a tensor of this type, into a tensor.
pub fn copied(array: &Bound<'_, PyUntypedArray>, dtype: DataType) -> Result<Tensor> {
    let shape = Shape::new(array.shape())?;
    let len = array.len() * dtype.size();
    if len == 0 {
        return Tensor::zeros(dtype, shape);
    }
    // SAFETY: a contiguous array has this many initialised bytes at its data pointer. Python is not released while they are read.
    let bytes = unsafe { std::slice::from_raw_parts((*array.as_array_ptr()).data.cast::<u8>(), len) };
    Tensor::from_bytes(dtype, shape, bytes)
}

/// The number of a type in numpy's C API.
fn type_number(dtype: DataType) -> Option<NPY_TYPES> {
    use DataType::*;
    Some(match dtype {
        Bool => NPY_TYPES::NPY_BOOL,
        Int8 | Qint8 => NPY_TYPES::NPY_BYTE,
        Uint8 | Quint8 => NPY_TYPES::NPY_UBYTE,
        Int16 | Qint16 => NPY_TYPES::NPY_SHORT,
        Uint16 | Quint16 => NPY_TYPES::NPY_USHORT,
        Int32 | Qint32 => NPY_TYPES::NPY_INT,
        Uint32 => NPY_TYPES::NPY_UINT,
        Int64 => NPY_TYPES::NPY_LONG,
        Uint64 => NPY_TYPES::NPY_ULONG,
        Half => NPY_TYPES::NPY_HALF,
        Float => NPY_TYPES::NPY_FLOAT,
        Double => NPY_TYPES::NPY_DOUBLE,
        Complex64 => NPY_TYPES::NPY_CFLOAT,
        Complex128 => NPY_TYPES::NPY_CDOUBLE,
        _ => return None,
    })
}

/// Whether numpy has a type of its own with these elements.
pub fn is_known(dtype: DataType) -> bool {
    type_number(dtype).is_some()
}

/// The tensor, of a type that numpy knows, as an array that may be written: over its memory if nobody else has it, else over a copy.
pub fn of(py: Python<'_>, mut tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let number = type_number(tensor.dtype()).unwrap_or(NPY_TYPES::NPY_VOID);
    let mut dims: Vec<npy_intp> = tensor.shape().iter().map(|d| *d as npy_intp).collect();
    let shared = tensor.byte_len() < COPIED || !tensor.is_unique();
    let data = match tensor.bytes_mut_unless(shared) {
        Some(bytes) => bytes.as_mut_ptr().cast::<c_void>(),
        None => null_mut(),
    };
    // SAFETY: the dimensions are as many as said. With data, the memory is that of a tensor that nobody else refers to, and which the base object keeps.
    // Without, numpy allocates.
    let array = unsafe {
        let descr = PY_ARRAY_API.PyArray_DescrFromType(py, number as c_int);
        let class = PY_ARRAY_API.get_type_object(py, NpyTypes::PyArray_Type);
        let (rank, dims) = (dims.len() as c_int, dims.as_mut_ptr());
        let flags = if data.is_null() { 0 } else { NPY_ARRAY_WRITEABLE };
        let made = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            class,
            descr,
            rank,
            dims,
            null_mut(),
            data,
            flags,
            null_mut(),
        );
        Bound::from_owned_ptr_or_opt(py, made)
    };
    let Some(array) = array else {
        return Err(PyErr::take(py).unwrap_or_else(|| PyMemoryError::new_err("no memory for an array")));
    };
    let pointer = array.as_ptr().cast::<PyArrayObject>();
    if data.is_null() {
        let bytes = tensor.bytes().or_raise(py)?;
        // SAFETY: numpy has just allocated as many bytes, for as many elements of the same size, and nobody else has the array.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (*pointer).data.cast::<u8>(), bytes.len()) };
        return Ok(array);
    }
    let memory = Bound::new(py, Memory { tensor })?;
    // SAFETY: takes over the reference to the base object, which keeps the memory for as long as the array lives.
    unsafe { PY_ARRAY_API.PyArray_SetBaseObject(py, pointer, memory.into_ptr()) };
    Ok(array)
}

/// The tensor, of a type that numpy knows, as an array over its memory that may not be written.
pub fn view(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    over(py, tensor, 0)
}

/// As `view`, for libraries that cannot say that memory may not be written, and whose contract is that it is not: DLPack before version 1.
pub fn lent(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    over(py, tensor, NPY_ARRAY_WRITEABLE)
}

fn over(py: Python<'_>, tensor: Tensor, flags: c_int) -> PyResult<Bound<'_, PyAny>> {
    let number = type_number(tensor.dtype()).unwrap_or(NPY_TYPES::NPY_VOID);
    let mut dims: Vec<npy_intp> = tensor.shape().iter().map(|d| *d as npy_intp).collect();
    if tensor.byte_len() == 0 {
        return of(py, tensor);
    }
    // Small tensors hold their elements themselves: they must not move.
    let memory = Bound::new(py, Memory { tensor })?;
    let data = memory.get().tensor.bytes().or_raise(py)?.as_ptr().cast_mut().cast::<c_void>();
    // SAFETY: the dimensions are as many as said; the memory is that of the tensor, which the base object keeps, and numpy writes no array
    // without NPY_ARRAY_WRITEABLE.
    unsafe {
        let descr = PY_ARRAY_API.PyArray_DescrFromType(py, number as c_int);
        let class = PY_ARRAY_API.get_type_object(py, NpyTypes::PyArray_Type);
        let (rank, dims) = (dims.len() as c_int, dims.as_mut_ptr());
        let made = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            class,
            descr,
            rank,
            dims,
            null_mut(),
            data,
            flags,
            null_mut(),
        );
        let Some(array) = Bound::from_owned_ptr_or_opt(py, made) else {
            return Err(PyErr::take(py).unwrap_or_else(|| PyMemoryError::new_err("no memory for an array")));
        };
        PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast::<PyArrayObject>(), memory.into_ptr());
        Ok(array)
    }
}

/// The bytes of a tensor for writing, unless they are shared.
trait BytesUnless {
    fn bytes_mut_unless(&mut self, shared: bool) -> Option<&mut [u8]>;
}

impl BytesUnless for Tensor {
    fn bytes_mut_unless(&mut self, shared: bool) -> Option<&mut [u8]> {
        if shared { None } else { self.bytes_mut().ok() }
    }
}
