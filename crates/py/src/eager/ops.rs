//! Running ops at once.

use super::tape;
use super::{EagerTensor, EagerVariable, eager};
use crate::args::{self, Given, Place};
use crate::errors::{OrRaise, wrong_type};
use crate::op_table::registry;
use crate::tensor::Tensor;
use crate::variables::Variable;
use crate::{attrs, dtype, graph, interrupts};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::SmallVec;
use std::sync::Arc;
use thalweg_client as client;
use thalweg_client::eager::{Eager, EagerOp, EagerTensor as Value, Recorded};
use thalweg_client::{Attrs, DataType};
use thalweg_core::op::Op;
use thalweg_core::signature::{ArgSpec, ArgType};

/// Ops on fewer bytes are done sooner than another thread could begin.
const BRIEF: usize = 1 << 14;

pub type Outputs = SmallVec<[Value; 1]>;

/// Runs an op and records it on the open tapes.
pub fn run(
    py: Python<'_>,
    eager: &'static Eager,
    op: &'static Op,
    lens: &[u32],
    inputs: &[Value],
    attrs: &Attrs,
) -> PyResult<(Arc<EagerOp>, Outputs)> {
    let types = inputs.iter().map(|i| i.tensor.dtype());
    let made = eager.ops().op(op, lens, types, attrs).or_raise(py)?;
    let tensors: Vec<client::Tensor> = inputs.iter().map(|i| i.tensor.clone()).collect();
    let results = if made.may_wait() {
        let made = made.clone();
        interrupts::wait_for(py, move |cancel| eager.ops().run(&made, tensors, Some(cancel)))?
    } else if inputs.iter().any(|i| i.tensor.byte_len() > BRIEF) || op.expensive || inputs.is_empty() {
        py.detach(|| eager.ops().run(&made, tensors, None))
    } else {
        eager.ops().run(&made, tensors, None)
    };
    let outputs: Outputs = results.or_raise(py)?.into_iter().map(|t| eager.tensor(t)).collect();
    if tape::is_recording() {
        tape::record(py, &Recorded::Op(made.clone()), inputs, &outputs);
    }
    Ok((made, outputs))
}

/// Arguments as values.
pub struct Values {
    pub eager: &'static Eager,
}

impl Place for Values {
    type Value = Value;

    fn dtype(value: &Value) -> DataType {
        value.tensor.dtype()
    }

    fn existing(&self, obj: &Bound<'_, PyAny>, dtype: Option<DataType>) -> PyResult<Option<Value>> {
        if let Ok(t) = obj.cast::<EagerTensor>() {
            return Ok(Some(t.get().value.clone()));
        }
        if let Ok(v) = obj.cast::<EagerVariable>() {
            if dtype == Some(DataType::Resource) {
                return Ok(Some(v.get().watched(v)));
            }
            return EagerVariable::read(v, self.eager).map(Some);
        }
        if obj.is_instance_of::<Tensor>() || obj.is_instance_of::<Variable>() {
            return Err(wrong_type(format!(
                "{obj} is of a graph and has no value: run it in a session, or use it inside of the function that made it"
            )));
        }
        Ok(None)
    }

    fn constant(&self, _: Python<'_>, _: &str, value: client::Tensor) -> PyResult<Value> {
        Ok(Value { tensor: value, id: 0 })
    }

    fn packed(
        &self,
        py: Python<'_>,
        _: &str,
        make: impl FnOnce(&Self) -> PyResult<Vec<Value>>,
    ) -> PyResult<Value> {
        let items = make(self)?;
        let op = registry().find("Pack").or_raise(py)?;
        let (_, outputs) = run(py, self.eager, op, &[items.len() as u32], &items, &Attrs::new())?;
        outputs.into_iter().next().ok_or_else(|| wrong_type("nothing to pack"))
    }
}

/// Runs an op by its name, and returns its outputs as the functions of ops do; an op without outputs returns None.
#[pyfunction]
#[pyo3(signature = (op, inputs, attrs=None))]
pub fn eager_op(
    py: Python<'_>,
    op: &str,
    inputs: Vec<Bound<'_, PyAny>>,
    attrs: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let (eager, registry) = (eager(py)?, registry());
    let found = registry.find(op).or_raise(py)?;
    let signature = registry.signature(found).or_raise(py)?;
    let given = attrs::of_signature(op, signature, attrs)?;
    let args = args::of_signature(&Values { eager }, signature, &inputs, &given)?;
    let mut lens: SmallVec<[u32; 4]> = SmallVec::new();
    let mut values: Vec<Value> = Vec::with_capacity(args.len());
    for arg in args {
        match arg {
            Given::One(one) => {
                lens.push(1);
                values.push(one);
            }
            Given::List(list) => {
                lens.push(list.len() as u32);
                values.extend(list);
            }
        }
    }
    let (made, outputs) = run(py, eager, found, &lens, &values, &given)?;
    let tensor = |v: &Value| EagerTensor::new(py, v.clone());
    let is_list = |arg: &ArgSpec| arg.number.is_some() || matches!(arg.ty, ArgType::List(_));
    if let ([one], [arg]) = (outputs.as_slice(), signature.outputs.as_slice())
        && !is_list(arg)
    {
        return Ok(tensor(one)?.into_any());
    }
    let ranges = signature.output_ranges(&made.node.attrs).or_raise(py)?;
    let mut parts: Vec<Py<PyAny>> = Vec::with_capacity(ranges.len());
    for (range, arg) in ranges.into_iter().zip(&signature.outputs) {
        let these = outputs.get(range).unwrap_or_default();
        parts.push(match (is_list(arg), these) {
            (false, [one]) => tensor(one)?.into_any(),
            _ => {
                PyList::new(py, these.iter().map(tensor).collect::<PyResult<Vec<_>>>()?)?.into_any().unbind()
            }
        });
    }
    match parts.len() {
        0 => Ok(py.None()),
        1 => Ok(parts.remove(0)),
        _ => Ok(PyTuple::new(py, parts)?.into_any().unbind()),
    }
}

/// A tensor as it is, the value of a variable, anything else as a tensor with this value.
#[pyfunction]
#[pyo3(signature = (value, dtype=None))]
pub fn eager_convert(
    py: Python<'_>,
    value: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let want = dtype.filter(|d| !d.is_none()).map(dtype::from_python).transpose()?;
    let eager = eager(py)?;
    let mut made = args::value_of(&Values { eager }, value, want, "value")?;
    if let Some(want) = want.filter(|want| *want != made.tensor.dtype()) {
        let text = format!(
            "Tensor conversion requested dtype {} for Tensor with dtype {}: {value}",
            want.python_name(),
            made.tensor.dtype().python_name()
        );
        return Err(PyValueError::new_err(text));
    }
    if value.is_instance_of::<EagerTensor>() {
        return Ok(value.clone().unbind());
    }
    // A literal stays one: small numbers are known to gradients.
    if made.id == 0 && made.tensor.dtype().is_float() {
        made.id = eager.fresh_id();
    }
    Ok(EagerTensor::new(py, made)?.into_any())
}

/// A tensor of this value, type and shape; a value of one element fills the shape.
#[pyfunction]
#[pyo3(signature = (value, dtype=None, shape=None))]
pub fn eager_constant(
    py: Python<'_>,
    value: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    shape: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<EagerTensor>> {
    let dtype = dtype.filter(|d| !d.is_none()).map(dtype::from_python).transpose()?;
    let tensor = graph::shaped(value, dtype, shape)?;
    EagerTensor::new(py, eager(py)?.tensor(tensor))
}
