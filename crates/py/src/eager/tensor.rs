//! `EagerTensor`: a tensor with its value. Arithmetic of two of them, or of one and a number, is done here; everything else, and graphs, by the
//! operators that the package adds to all tensors.

use super::ops::{self, Values};
use super::{eager, in_graph_now};
use crate::args;
use crate::array;
use crate::attrs::sizes;
use crate::dtype::{self, DType};
use crate::errors::{OrRaise, wrong_type};
use crate::op_table::registry;
use crate::tensor::{AnyTensor, Tensor};
use crate::values;
use crate::variables::{AnyVariable, Variable};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::sync::OnceLock;
use thalweg_client as client;
use thalweg_client::eager::EagerTensor as Value;
use thalweg_client::{Attrs, DataType};
use thalweg_core::op::Op;

/// A tensor with its value.
#[pyclass(frozen, extends = AnyTensor, module = "thalweg", name = "EagerTensor")]
pub struct EagerTensor {
    pub value: Value,
}

impl EagerTensor {
    pub fn new(py: Python<'_>, value: Value) -> PyResult<Py<EagerTensor>> {
        Py::new(py, (EagerTensor { value }, AnyTensor))
    }

    fn tensor(&self) -> &client::Tensor {
        &self.value.tensor
    }

    /// Its one element, for `int(x)` and the like.
    fn scalar<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.tensor().elements() != 1 {
            return Err(PyTypeError::new_err("only length-1 arrays can be converted to Python scalars"));
        }
        values::to_python(py, self.tensor().clone())?.into_bound(py).call_method0("item")
    }
}

/// An op of two tensors of one type, looked up once.
struct Binary {
    name: &'static str,
    op: &'static str,
    found: OnceLock<&'static Op>,
    /// Whether integers need more than this op.
    floats_only: bool,
}

const fn binary(name: &'static str, op: &'static str, floats_only: bool) -> Binary {
    Binary { name, op, found: OnceLock::new(), floats_only }
}

static ADD: Binary = binary("add", "AddV2", false);
static SUB: Binary = binary("sub", "Sub", false);
static MUL: Binary = binary("mul", "Mul", false);
static TRUEDIV: Binary = binary("truediv", "RealDiv", true);
static POW: Binary = binary("pow", "Pow", false);

impl Binary {
    /// The operator on a tensor and an object: `NotImplemented` for what is not a value.
    fn apply(
        &'static self,
        slf: &Bound<'_, EagerTensor>,
        other: &Bound<'_, PyAny>,
        is_reflected: bool,
    ) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let a = &slf.get().value;
        let dtype = a.tensor.dtype();
        let b = match other.cast::<EagerTensor>() {
            Ok(other) => other.get().value.clone(),
            Err(_) if other.is_instance_of::<Tensor>() || other.is_instance_of::<AnyVariable>() => {
                return Ok(py.NotImplemented());
            }
            Err(_) if in_graph_now() => return self.general(slf, other, is_reflected),
            Err(_) => args::value_of(&Values { eager: eager(py)? }, other, Some(dtype), "y")?,
        };
        if in_graph_now() || (self.floats_only && !(dtype.is_float() && b.tensor.dtype() == dtype)) {
            return self.general(slf, other, is_reflected);
        }
        let op = match self.found.get() {
            Some(op) => op,
            None => self.found.get_or_init(|| registry().find(self.op).unwrap_or(&UNKNOWN)),
        };
        let inputs = if is_reflected { [b, a.clone()] } else { [a.clone(), b] };
        let (_, outputs) = ops::run(py, eager(py)?, op, &[1, 1], &inputs, &Attrs::new())?;
        match outputs.into_iter().next() {
            Some(value) => Ok(EagerTensor::new(py, value)?.into_any()),
            None => Err(wrong_type("no result")),
        }
    }

    /// By the package's operators.
    fn general(&self, x: &Bound<'_, PyAny>, y: &Bound<'_, PyAny>, is_reflected: bool) -> PyResult<Py<PyAny>> {
        static OPERATE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let operate = OPERATE.get_or_try_init(x.py(), || {
            PyResult::Ok(x.py().import("thalweg._operators")?.getattr("_operate")?.unbind())
        })?;
        let (x, y) = if is_reflected { (y, x) } else { (x, y) };
        operate.call1(x.py(), (self.name, x, y))
    }
}

static UNKNOWN: Op = Op { name: "an op that is not in the table", ..Op::PURE };

#[pymethods]
impl EagerTensor {
    fn __add__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        ADD.apply(slf, other, false)
    }
    fn __radd__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        ADD.apply(slf, other, true)
    }
    fn __sub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        SUB.apply(slf, other, false)
    }
    fn __rsub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        SUB.apply(slf, other, true)
    }
    fn __mul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        MUL.apply(slf, other, false)
    }
    fn __rmul__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        MUL.apply(slf, other, true)
    }
    fn __truediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        TRUEDIV.apply(slf, other, false)
    }
    fn __rtruediv__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        TRUEDIV.apply(slf, other, true)
    }
    fn __pow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        _modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        POW.apply(slf, other, false)
    }
    fn __rpow__(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
        _modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        POW.apply(slf, other, true)
    }

    /// Elementwise, as TensorFlow 2's eager tensors compare.
    fn __richcmp__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>, how: CompareOp) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        if other.is_none() {
            return Ok(matches!(how, CompareOp::Ne).into_pyobject(py)?.to_owned().into_any().unbind());
        }
        if other.is_instance_of::<Tensor>() || other.is_instance_of::<Variable>() {
            return Ok(py.NotImplemented());
        }
        let name = match how {
            CompareOp::Lt => "Less",
            CompareOp::Le => "LessEqual",
            CompareOp::Eq => "Equal",
            CompareOp::Ne => "NotEqual",
            CompareOp::Gt => "Greater",
            CompareOp::Ge => "GreaterEqual",
        };
        py.import("thalweg._operators")?.getattr("_compared")?.call1((name, slf, other)).map(Bound::unbind)
    }

    fn __hash__(&self) -> PyResult<u64> {
        Err(wrong_type("Tensor is unhashable. Instead, use tensor.ref() as the key."))
    }

    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<Py<DType>> {
        dtype::object(py, self.tensor().dtype())
    }

    #[getter]
    fn _dims(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        sizes(py, &self.tensor().shape().into())
    }

    #[getter]
    fn _id(&self) -> u64 {
        self.value.id
    }

    #[getter]
    fn device(&self, py: Python<'_>) -> PyResult<String> {
        Ok(eager(py)?.ops().device().name().to_string())
    }

    /// A copy of the value: an array, a scalar of numpy, bytes.
    fn numpy(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        values::to_python(py, self.tensor().clone())
    }

    /// The value as an array over the same memory, which may not be written.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = if array::is_known(self.tensor().dtype()) {
            array::view(py, self.tensor().clone())?
        } else {
            let value = values::to_python(py, self.tensor().clone())?;
            values::numpy(py)?.call_method1("asarray", (value,))?
        };
        if let Some(dtype) = dtype.filter(|d| !d.is_none()) {
            let kwargs = PyDict::new(py);
            kwargs.set_item("copy", copy.unwrap_or(false))?;
            return array.call_method("astype", (dtype,), Some(&kwargs));
        }
        if copy == Some(true) { array.call_method0("copy") } else { Ok(array) }
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        if self.tensor().elements() != 1 {
            return Err(pyo3::exceptions::PyValueError::new_err(format!(
                "The truth value of an array with more than one element is ambiguous: shape {}. Use tf.reduce_any or tf.reduce_all",
                self.tensor().shape()
            )));
        }
        match self.tensor().dtype() {
            DataType::Bool => self.tensor().to_scalar::<bool>().or_raise(py),
            _ => self.scalar(py)?.is_truthy(),
        }
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.scalar(py)?.call_method0(intern!(py, "__int__"))
    }

    fn __float__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.scalar(py)?.call_method0(intern!(py, "__float__"))
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<pyo3::types::PyComplex>().call1((self.scalar(py)?,))
    }

    fn __index__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.scalar(py)?.call_method0(intern!(py, "__index__"))
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.tensor().shape().first() {
            Some(len) => Ok(*len),
            None => Err(wrong_type("Scalar tensor has no `len()`")),
        }
    }

    fn __format__(&self, py: Python<'_>, spec: &str) -> PyResult<Py<PyAny>> {
        let value = values::to_python(py, self.tensor().clone())?;
        value.call_method1(py, "__format__", (spec,))
    }

    /// Pickled by its value.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let value = values::to_python(py, self.tensor().clone())?;
        let again = py.import("thalweg._eager")?.getattr("_unpickled")?;
        Ok((again, (value, self.tensor().dtype().python_name()).into_pyobject(py)?))
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn _same_memory(&self, other: &Bound<'_, EagerTensor>) -> bool {
        self.tensor().shares_memory_with(other.get().tensor())
    }
}
