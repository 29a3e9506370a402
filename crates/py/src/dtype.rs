//! `DType`: element types, with the names and numbers of TensorFlow.

use crate::errors::wrong_type;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyString, PyType};
use thalweg_client::DataType;

/// The type of the elements of a tensor.
#[pyclass(frozen, module = "thalweg", name = "DType")]
pub struct DType(pub DataType);

/// One object for each type.
fn all(py: Python<'_>) -> PyResult<&'static Vec<Py<DType>>> {
    static ALL: PyOnceLock<Vec<Py<DType>>> = PyOnceLock::new();
    ALL.get_or_try_init(py, || DataType::all().map(|t| Py::new(py, DType(t))).collect())
}

/// The object of a type.
pub fn object(py: Python<'_>, dtype: DataType) -> PyResult<Py<DType>> {
    let found = all(py)?.get(dtype.wire() as usize - 1);
    found.map(|d| d.clone_ref(py)).ok_or_else(|| wrong_type("no such type"))
}

/// The type that an object of Python names: a `DType`, a name, a number, a type of numpy or of Python.
pub fn from_python(obj: &Bound<'_, PyAny>) -> PyResult<DataType> {
    if let Ok(dtype) = obj.cast::<DType>() {
        return Ok(dtype.get().0);
    }
    let unknown = || wrong_type(format!("cannot convert {obj} to a data type"));
    if let Ok(name) = obj.cast::<PyString>() {
        let name = name.to_cow()?;
        return DataType::from_name(name.as_ref()).ok_or_else(unknown);
    }
    if obj.is_instance_of::<PyInt>() {
        return obj.extract().ok().and_then(DataType::from_wire).ok_or_else(unknown);
    }
    if let Ok(class) = obj.cast::<PyType>() {
        let py = obj.py();
        let python = [
            (py.get_type::<PyFloat>(), DataType::Float),
            (py.get_type::<PyBool>(), DataType::Bool),
            (py.get_type::<PyInt>(), DataType::Int32),
            (py.get_type::<PyComplex>(), DataType::Complex128),
            (py.get_type::<PyString>(), DataType::String),
            (py.get_type::<PyBytes>(), DataType::String),
        ];
        if let Some((_, dtype)) = python.iter().find(|(t, _)| t.is(class.as_any())) {
            return Ok(*dtype);
        }
        let name: String = class.getattr("__name__")?.extract()?;
        return of_numpy_name(&name).ok_or_else(unknown);
    }
    let name = obj.getattr("name").and_then(|n| n.extract::<String>()).map_err(|_| unknown())?;
    of_numpy_name(&name).ok_or_else(unknown)
}

/// The type that numpy calls so.
pub fn of_numpy_name(name: &str) -> Option<DataType> {
    match name {
        "bool_" => Some(DataType::Bool),
        "object" | "object_" | "str_" | "bytes_" => Some(DataType::String),
        name if name.starts_with("str") || name.starts_with("bytes") => Some(DataType::String),
        "longlong" => Some(DataType::Int64),
        "ulonglong" => Some(DataType::Uint64),
        name => DataType::from_name(name),
    }
}

/// The name of the type of numpy with the same elements, if there is one.
pub fn numpy_name(dtype: DataType) -> Option<&'static str> {
    use DataType::*;
    Some(match dtype {
        Bool => "bool_",
        Qint8 => "int8",
        Quint8 => "uint8",
        Qint16 => "int16",
        Quint16 => "uint16",
        Qint32 => "int32",
        String | Resource | Variant => "object_",
        Float | Double | Half | Int8 | Int16 | Int32 | Int64 | Uint8 | Uint16 | Uint32 | Uint64
        | Complex64 | Complex128 => dtype.python_name(),
        _ => return None,
    })
}

/// The DType that an object names.
#[pyfunction]
pub fn as_dtype(obj: &Bound<'_, PyAny>) -> PyResult<Py<DType>> {
    object(obj.py(), from_python(obj)?)
}

#[pymethods]
impl DType {
    #[new]
    fn new(obj: &Bound<'_, PyAny>) -> PyResult<DType> {
        from_python(obj).map(DType)
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.0.python_name()
    }

    #[getter]
    fn as_datatype_enum(&self) -> i32 {
        self.0.wire()
    }

    /// Bytes of an element; zero where they differ.
    #[getter]
    fn size(&self) -> usize {
        self.0.size()
    }

    #[getter]
    fn as_numpy_dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match numpy_name(self.0) {
            Some(name) => py.import("numpy")?.getattr(name),
            None => py.import("ml_dtypes")?.getattr(self.0.python_name()),
        }
    }

    #[getter]
    fn is_floating(&self) -> bool {
        self.0.is_float()
    }

    #[getter]
    fn is_integer(&self) -> bool {
        self.0.is_integer()
    }

    #[getter]
    fn is_complex(&self) -> bool {
        self.0.is_complex()
    }

    #[getter]
    fn is_bool(&self) -> bool {
        self.0 == DataType::Bool
    }

    #[getter]
    fn is_quantized(&self) -> bool {
        self.0.is_quantized()
    }

    #[getter]
    fn is_numpy_compatible(&self) -> bool {
        numpy_name(self.0).is_some()
    }

    #[getter]
    fn base_dtype(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[getter]
    fn real_dtype(&self, py: Python<'_>) -> PyResult<Py<DType>> {
        let real = match self.0 {
            DataType::Complex64 => DataType::Float,
            DataType::Complex128 => DataType::Double,
            other => other,
        };
        object(py, real)
    }

    /// Whether a tensor of the other type can be used where one of this type is needed.
    fn is_compatible_with(&self, other: &Bound<'_, PyAny>) -> bool {
        from_python(other).is_ok_and(|other| other == self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        from_python(other).is_ok_and(|other| other == self.0)
    }

    fn __hash__(&self) -> u64 {
        self.0.wire() as u64
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, (&'static str,))> {
        Ok((py.import("thalweg._engine")?.getattr("as_dtype")?.unbind(), (self.0.python_name(),)))
    }

    fn __repr__(&self) -> String {
        format!("tf.{}", self.0.python_name())
    }

    fn __str__(&self) -> String {
        format!("<dtype: '{}'>", self.0.python_name())
    }
}
