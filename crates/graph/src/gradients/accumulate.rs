//! Sums of partial gradients, dense and sparse.

use super::first;
use thalweg_core::attr::{Attr, Attrs};
use thalweg_core::builder::Builder;
use thalweg_core::error::Result;
use thalweg_core::grad::Grad;
use thalweg_core::node::Output;

/// The sum of the gradients of one output. IndexedSlices stay sparse if all of them are.
pub fn sum_grads(graph: &mut dyn Builder, grads: Vec<Grad>) -> Result<Grad> {
    let mut grads: Vec<Grad> = grads.into_iter().filter(|g| *g != Grad::None).collect();
    match grads.len() {
        0 => return Ok(Grad::None),
        1 => return Ok(grads.remove(0)),
        _ => {}
    }
    if grads.iter().all(|g| matches!(g, Grad::Slices { .. })) {
        return concat_slices(graph, &grads);
    }
    let mut dense = Vec::with_capacity(grads.len());
    for g in grads {
        dense.extend(to_dense(graph, g)?);
    }
    Ok(Grad::Dense(first(graph.add("AddN", vec![dense.into()], Attrs::new())?)?))
}

fn concat_slices(graph: &mut dyn Builder, grads: &[Grad]) -> Result<Grad> {
    let (mut values, mut indices, mut shape) = (Vec::new(), Vec::new(), None);
    for g in grads {
        if let Grad::Slices { values: v, indices: i, dense_shape } = g {
            values.push(*v);
            indices.push(*i);
            shape = Some(*dense_shape);
        }
    }
    let Some(dense_shape) = shape else { return Ok(Grad::None) };
    let zero = constant(graph, thalweg_core::tensor::Tensor::scalar(0i32))?;
    let values = first(graph.add("ConcatV2", vec![values.into(), zero.into()], Attrs::new())?)?;
    let indices = first(graph.add("ConcatV2", vec![indices.into(), zero.into()], Attrs::new())?)?;
    Ok(Grad::Slices { values, indices, dense_shape })
}

fn constant(graph: &mut dyn Builder, t: thalweg_core::tensor::Tensor) -> Result<Output> {
    let mut attrs = Attrs::new();
    attrs.set("dtype", t.dtype());
    attrs.set("value", Attr::Tensor(t));
    first(graph.add("Const", vec![], attrs)?)
}

/// Densifies slices.
pub fn to_dense(graph: &mut dyn Builder, g: Grad) -> Result<Option<Output>> {
    match g {
        Grad::None => Ok(None),
        Grad::Dense(o) => Ok(Some(o)),
        Grad::Slices { values, indices, dense_shape } => {
            let scalar = |v: i32| thalweg_core::case::int_vector(&[v]);
            let (zero, one) = (constant(graph, scalar(0))?, constant(graph, scalar(1))?);
            let mut attrs = Attrs::new();
            attrs.set("shrink_axis_mask", 1i64);
            let rows = first(graph.add(
                "StridedSlice",
                vec![dense_shape.into(), zero.into(), one.into(), one.into()],
                attrs,
            )?)?;
            let summed = graph.add(
                "UnsortedSegmentSum",
                vec![values.into(), indices.into(), rows.into()],
                Attrs::new(),
            )?;
            Ok(Some(first(summed)?))
        }
    }
}
