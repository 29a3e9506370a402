//! Values: objects of Python as tensors, and tensors as arrays, scalars and bytes.

use crate::array;
use crate::dtype::{self, numpy_name};
use crate::eager::EagerTensor;
use crate::errors::{OrRaise, wrong_type};
use bytes::Bytes;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use thalweg_client::{DataType, Shape, Tensor};
use thalweg_core::dtype::ComplexDouble;

pub fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = NUMPY.get_or_try_init(py, || PyResult::Ok(py.import("numpy")?.unbind()))?;
    Ok(module.bind(py))
}

/// The value as a tensor, of this type if one is given: as `tf.constant` converts.
pub fn tensor_of(obj: &Bound<'_, PyAny>, dtype: Option<DataType>) -> PyResult<Tensor> {
    if let Some(scalar) = scalar(obj, dtype)? {
        return Ok(scalar);
    }
    if let Ok(eager) = obj.cast::<EagerTensor>() {
        let tensor = eager.get().value.tensor.clone();
        return match dtype.filter(|want| *want != tensor.dtype()) {
            None => Ok(tensor),
            Some(want) => Err(unexpected(obj, want)),
        };
    }
    if obj.is_none() {
        return Err(PyValueError::new_err("None values not supported."));
    }
    let array = match obj.is_instance_of::<PyUntypedArray>() {
        true => obj.clone(),
        false => array_of_items(obj, dtype)?,
    };
    of_array(&array, dtype)
}

fn unexpected(obj: &Bound<'_, PyAny>, dtype: DataType) -> PyErr {
    let class = obj.get_type().name().map(|n| n.to_string()).unwrap_or_default();
    let shown = obj.repr().map(|r| r.to_string()).unwrap_or_default();
    wrong_type(format!("Expected {}, but got {shown} of type '{class}'.", dtype.python_name()))
}

/// A number, text or bytes of Python itself.
fn scalar(obj: &Bound<'_, PyAny>, dtype: Option<DataType>) -> PyResult<Option<Tensor>> {
    let py = obj.py();
    if obj.is_exact_instance_of::<PyFloat>() {
        let (value, want) = (obj.extract::<f64>()?, dtype.unwrap_or(DataType::Float));
        if !want.is_float() && !want.is_complex() {
            return Err(unexpected(obj, want));
        }
        return Tensor::number(value, want).or_raise(py).map(Some);
    }
    if obj.is_exact_instance_of::<PyBool>() {
        let value = obj.extract::<bool>()?;
        return match dtype {
            None | Some(DataType::Bool) => Ok(Some(Tensor::scalar(value))),
            Some(other) => Tensor::number(f64::from(u8::from(value)), other)
                .map(Some)
                .map_err(|_| unexpected(obj, other)),
        };
    }
    if obj.is_instance_of::<PyInt>() {
        return integer(obj, dtype).map(Some);
    }
    let text = |bytes: &[u8]| match dtype {
        None | Some(DataType::String) => Ok(Some(Tensor::string(bytes))),
        Some(other) => Err(unexpected(obj, other)),
    };
    if let Ok(s) = obj.cast_exact::<PyString>() {
        return text(s.to_cow()?.as_bytes());
    }
    if let Ok(b) = obj.cast_exact::<PyBytes>() {
        return text(b.as_bytes());
    }
    if obj.is_exact_instance_of::<PyComplex>() {
        let parts = (obj.getattr("real")?.extract()?, obj.getattr("imag")?.extract()?);
        let value = ComplexDouble::new(parts.0, parts.1);
        return match dtype {
            None | Some(DataType::Complex128) => Ok(Some(Tensor::scalar(value))),
            // By way of numpy, as any other type.
            Some(DataType::Complex64) => Ok(None),
            Some(other) => Err(unexpected(obj, other)),
        };
    }
    Ok(None)
}

fn integer(obj: &Bound<'_, PyAny>, dtype: Option<DataType>) -> PyResult<Tensor> {
    let py = obj.py();
    let outside = |t: DataType| {
        let shown = obj.repr().map(|r| r.to_string()).unwrap_or_default();
        PyOverflowError::new_err(format!("{shown} is out of range for {}", t.python_name()))
    };
    let value = match obj.extract::<i64>() {
        Ok(v) => v,
        Err(_) => {
            let want = dtype.unwrap_or(DataType::Uint64);
            return match (want, obj.extract::<u64>()) {
                (DataType::Uint64, Ok(v)) => Ok(Tensor::scalar(v)),
                (t, _) if t.is_float() => Tensor::number(obj.extract::<f64>()?, t).or_raise(py),
                (t, _) => Err(outside(t)),
            };
        }
    };
    let want = dtype.unwrap_or(if i32::try_from(value).is_ok() { DataType::Int32 } else { DataType::Int64 });
    macro_rules! fits {
        ($t:ty) => {
            <$t>::try_from(value).map(Tensor::scalar).map_err(|_| outside(want))
        };
    }
    match want {
        DataType::Int64 => Ok(Tensor::scalar(value)),
        DataType::Int32 => fits!(i32),
        DataType::Int16 => fits!(i16),
        DataType::Int8 => fits!(i8),
        DataType::Uint64 => fits!(u64),
        DataType::Uint32 => fits!(u32),
        DataType::Uint16 => fits!(u16),
        DataType::Uint8 => fits!(u8),
        DataType::Bool => Err(unexpected(obj, want)),
        other => Tensor::number(value as f64, other).map_err(|_| unexpected(obj, other)),
    }
}

/// Lists, tuples, numbers of numpy, and whatever else numpy makes an array of.
fn array_of_items<'py>(obj: &Bound<'py, PyAny>, dtype: Option<DataType>) -> PyResult<Bound<'py, PyAny>> {
    let py = obj.py();
    let np = numpy(py)?;
    let kwargs = PyDict::new(py);
    if dtype == Some(DataType::String) {
        kwargs.set_item("dtype", "object")?;
    }
    // Tensors of other libraries lend their memory.
    if obj.hasattr(intern!(py, "__dlpack__"))? {
        return np.call_method1("from_dlpack", (obj,));
    }
    let array = np.call_method("array", (obj,), Some(&kwargs))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let leaf = first_leaf(obj)?;
    let is_python = leaf.as_ref().is_some_and(|l| l.is_exact_instance_of::<PyFloat>());
    let is_int = leaf.as_ref().is_some_and(|l| l.is_exact_instance_of::<PyInt>());
    match (dtype, kind.as_str()) {
        (None, "f") if is_python || is_int || leaf.is_none() => array.call_method1("astype", ("float32",)),
        (None, "i") if is_int => {
            let small = array.call_method1("astype", ("int32",))?;
            let same: bool = np.call_method1("array_equal", (&small, &array))?.extract()?;
            Ok(if same { small } else { array })
        }
        (Some(t), "f") if is_python && !t.is_float() && !t.is_complex() => {
            Err(unexpected(&leaf.unwrap_or_else(|| obj.clone()), t))
        }
        _ => Ok(array),
    }
}

/// The first item that is no list.
fn first_leaf<'py>(obj: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut at = obj.clone();
    while at.is_instance_of::<PyList>() || at.is_instance_of::<PyTuple>() {
        if at.len()? == 0 {
            return Ok(None);
        }
        at = at.get_item(0)?;
    }
    Ok(Some(at))
}

fn of_array(array: &Bound<'_, PyAny>, dtype: Option<DataType>) -> PyResult<Tensor> {
    let py = array.py();
    let descr = array.getattr(intern!(py, "dtype"))?;
    let kind: String = descr.getattr(intern!(py, "kind"))?.extract()?;
    if matches!(kind.as_str(), "O" | "U" | "S") {
        if let Some(other) = dtype.filter(|t| *t != DataType::String) {
            return Err(wrong_type(format!(
                "Expected {}, but got an array of objects.",
                other.python_name()
            )));
        }
        return strings(array);
    }
    let name: String = descr.getattr(intern!(py, "name"))?.extract()?;
    let have = dtype::of_numpy_name(&name);
    let want = match dtype.or(have) {
        Some(DataType::String) | None => {
            return Err(wrong_type(format!("cannot convert an array of {name} to a tensor")));
        }
        Some(want) => want,
    };
    let array = match have == Some(want) {
        true => array.clone(),
        false => array.call_method1("astype", (numpy_class(py, want)?,))?,
    };
    let native: bool = array.getattr("dtype")?.getattr("isnative")?.extract()?;
    let array = match native {
        true => array,
        false => {
            array.call_method1("astype", (array.getattr("dtype")?.call_method1("newbyteorder", ("=",))?,))?
        }
    };
    let untyped = array.cast::<PyUntypedArray>()?;
    if untyped.is_c_contiguous() {
        return array::copied(untyped, want).or_raise(py);
    }
    let kwargs = PyDict::new(py);
    kwargs.set_item("order", "C")?;
    let array = array.call_method("copy", (), Some(&kwargs))?;
    array::copied(array.cast::<PyUntypedArray>()?, want).or_raise(py)
}

fn numpy_class(py: Python<'_>, dtype: DataType) -> PyResult<Bound<'_, PyAny>> {
    match numpy_name(dtype) {
        Some(name) => numpy(py)?.getattr(name),
        None => py.import("ml_dtypes")?.getattr(dtype.python_name()),
    }
}

/// An array of text or bytes.
fn strings(array: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = array.py();
    let dims: Vec<usize> = array.getattr("shape")?.extract()?;
    let list = array.call_method0("ravel")?.call_method0("tolist")?;
    let items = list.try_iter()?.map(|item| {
        let item = item?;
        if let Ok(s) = item.cast::<PyString>() {
            return Ok(Bytes::copy_from_slice(s.to_cow()?.as_bytes()));
        }
        let bytes = item.cast::<PyBytes>().map_err(|_| unexpected(&item, DataType::String))?;
        Ok(Bytes::copy_from_slice(bytes.as_bytes()))
    });
    let items: Vec<Bytes> = items.collect::<PyResult<_>>()?;
    Shape::new(&dims).and_then(|shape| Tensor::from_objects(shape, items)).or_raise(py)
}

/// The tensor for Python: a scalar of numpy, an array, bytes, or an array of bytes.
pub fn to_python(py: Python<'_>, tensor: Tensor) -> PyResult<Py<PyAny>> {
    let dtype = tensor.dtype();
    match dtype {
        DataType::String => return strings_to_python(py, &tensor),
        DataType::Resource | DataType::Variant => {
            return Err(wrong_type(format!("a {} tensor has no value for Python", dtype.python_name())));
        }
        _ => {}
    }
    if tensor.shape().is_scalar()
        && let Some(scalar) = numpy_scalar(py, &tensor)?
    {
        return Ok(scalar);
    }
    match array::is_known(dtype) {
        true => Ok(array::of(py, tensor)?.unbind()),
        false => by_bytes(py, &tensor),
    }
}

/// A scalar of a type that numbers of Python can hold.
fn numpy_scalar(py: Python<'_>, tensor: &Tensor) -> PyResult<Option<Py<PyAny>>> {
    static CLASSES: PyOnceLock<Vec<Option<Py<PyAny>>>> = PyOnceLock::new();
    let classes = CLASSES.get_or_try_init(py, || {
        let named = |name: &str| -> PyResult<Py<PyAny>> { Ok(numpy(py)?.getattr(name)?.unbind()) };
        let class = |t: DataType| numpy_name(t).map(named).transpose();
        DataType::all().map(class).collect::<PyResult<Vec<_>>>()
    })?;
    let Some(Some(class)) = classes.get(tensor.dtype().wire() as usize - 1) else { return Ok(None) };
    let class = class.bind(py);
    let made = match tensor.dtype() {
        DataType::Float => class.call1((tensor.to_scalar::<f32>().or_raise(py)?,)),
        DataType::Double => class.call1((tensor.to_scalar::<f64>().or_raise(py)?,)),
        DataType::Int32 => class.call1((tensor.to_scalar::<i32>().or_raise(py)?,)),
        DataType::Int64 => class.call1((tensor.to_scalar::<i64>().or_raise(py)?,)),
        DataType::Bool => class.call1((tensor.to_scalar::<bool>().or_raise(py)?,)),
        _ => {
            // Any other: the element of an array.
            if !array::is_known(tensor.dtype()) {
                return Ok(None);
            }
            array::of(py, tensor.clone())?.get_item(PyTuple::empty(py))
        }
    };
    made.map(|m| Some(m.unbind()))
}

/// A type that numpy knows only by way of `ml_dtypes`.
fn by_bytes(py: Python<'_>, tensor: &Tensor) -> PyResult<Py<PyAny>> {
    let class = numpy_class(py, tensor.dtype())?;
    let bytes = PyBytes::new(py, tensor.bytes().or_raise(py)?);
    let flat = numpy(py)?.call_method1("frombuffer", (bytes, class))?;
    let dims = PyTuple::new(py, tensor.shape().dims())?;
    Ok(flat.call_method1("reshape", (dims,))?.call_method0("copy")?.unbind())
}

fn strings_to_python(py: Python<'_>, tensor: &Tensor) -> PyResult<Py<PyAny>> {
    let items = tensor.strings().or_raise(py)?;
    if let ([one], true) = (items, tensor.shape().is_scalar()) {
        return Ok(PyBytes::new(py, one).into_any().unbind());
    }
    let list = PyList::new(py, items.iter().map(|item| PyBytes::new(py, item)))?;
    let np = numpy(py)?;
    let array = np.call_method1("empty", (items.len(), "object"))?;
    array.set_item(pyo3::types::PySlice::full(py), list)?;
    let dims = PyTuple::new(py, tensor.shape().dims())?;
    Ok(array.call_method1("reshape", (dims,))?.unbind())
}

/// The array that `tf.constant` would make of a value.
#[pyfunction]
#[pyo3(signature = (value, dtype=None))]
pub fn to_numpy(value: &Bound<'_, PyAny>, dtype: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
    let dtype = dtype.map(dtype::from_python).transpose()?;
    to_python(value.py(), tensor_of(value, dtype)?)
}
