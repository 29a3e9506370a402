//! Graphs as a whole: constants of a shape, and graphs as messages.

use crate::attrs::shape_of;
use crate::errors::OrRaise;
use crate::values;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use thalweg_client as client;
use thalweg_client::{DataType, Result, Shape, Tensor};

/// The value as a tensor of this shape; one element fills it.
pub fn shaped(
    value: &Bound<'_, PyAny>,
    dtype: Option<DataType>,
    shape: Option<&Bound<'_, PyAny>>,
) -> PyResult<Tensor> {
    let py = value.py();
    let tensor = values::tensor_of(value, dtype)?;
    let Some(shape) = shape.filter(|s| !s.is_none()) else { return Ok(tensor) };
    let wanted = shape_of(shape)?;
    let dims = wanted.dims().unwrap_or_default();
    let sizes: Option<Vec<usize>> = dims.iter().map(|d| usize::try_from(*d).ok()).collect();
    let sizes = sizes.ok_or_else(|| {
        PyTypeError::new_err(format!("the shape of a constant must be known, got {wanted}"))
    })?;
    let wanted = Shape::new(&sizes).or_raise(py)?;
    if tensor.elements() == wanted.elements() {
        return tensor.reshape(wanted).or_raise(py);
    }
    if tensor.elements() != 1 {
        let text = format!(
            "Eager execution of tf.constant with unsupported shape: {} elements for shape {wanted}, which has {}",
            tensor.elements(),
            wanted.elements()
        );
        return Err(PyTypeError::new_err(text));
    }
    filled(&tensor, wanted).or_raise(py)
}

/// The one element of a tensor everywhere.
fn filled(one: &Tensor, shape: Shape) -> Result<Tensor> {
    if one.dtype() == DataType::String {
        let item = one.strings()?.first().cloned().unwrap_or_default();
        return Tensor::build_objects(shape, |_| Ok(item.clone()));
    }
    let bytes = one.bytes()?.to_vec();
    let mut full = Tensor::zeros(one.dtype(), shape)?;
    full.bytes_mut()?.chunks_exact_mut(bytes.len().max(1)).for_each(|to| to.copy_from_slice(&bytes));
    Ok(full)
}

pub fn to_bytes(scope: &client::Scope, add_shapes: bool) -> Result<Vec<u8>> {
    let def = if add_shapes { scope.to_graph_def_with_shapes()? } else { scope.to_graph_def()? };
    Ok(thalweg_proto::encode(&def))
}

pub fn to_text(scope: &client::Scope) -> Result<String> {
    Ok(thalweg_proto::text::print(&scope.to_graph_def()?))
}
