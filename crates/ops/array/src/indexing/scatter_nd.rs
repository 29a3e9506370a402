//! `ScatterNd`: scatter-add into zeros.

use super::tensor_scatter::{add, combine, gather_updates};
use crate::indices::{BadIndices, NdIndices, scatter_nd_shape};
use crate::prelude::*;
use std::ops::BitOrAssign;

pub static SCATTER_ND: Op = Op {
    name: "ScatterNd",
    doc: "Zeros of shape `shape`, to which the updates are added at the coordinates in `indices`.",
    inputs: &["indices: Tindices", "updates: T", "shape: Tindices"],
    outputs: &["output: T"],
    attrs: &["T: type", "Tindices: {int16, int32, int64}", "bad_indices_policy: string = ''"],
    shape: |c| {
        let target = c.as_shape(2)?;
        Ok(vec![scatter_nd_shape(&target, &c.input(0), &c.input(1))?])
    },
    grad: Rule(|g| Ok(vec![Grad::None, gather_updates(g, g.x[0])?.into(), Grad::None])),
    kernels: cpu!(run_string for T = String, run: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble; run_bool: T in bool),
    cases: |r| {
        vec![
            Case::new(vec![r.ints(&[3, 1], 0, 4), r.tensor(&[3, 2]), int_vector(&[4, 2])]),
            Case::new(vec![r.ints(&[2, 2, 2], 0, 3), r.tensor(&[2, 2]), int_vector(&[3, 3])]),
        ]
    },
    host_inputs: &["shape"],
    ..Op::PURE
};

/// Zeros of the output shape, and the indices.
fn target(c: &OpCall<'_>) -> Result<(Tensor, NdIndices)> {
    let (indices, updates) = (c.input(0)?, c.input(1)?);
    let shape = Shape::from_i64(&c.int_vector(2)?)?;
    if shape.elements() == 0 && (indices.elements() > 0 || updates.elements() > 0) {
        return Err(invalid!(
            "Indices and updates specified for empty output.  indices shape: {}",
            indices.shape()
        ));
    }
    let at = NdIndices::scattering(indices, &shape, BadIndices::of(c.attrs())?)?;
    at.check_updates(updates.shape(), &shape)?;
    Ok((Tensor::zeros(updates.dtype(), shape)?, at))
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let (out, at) = target(c)?;
    let out = combine(out, c.input(1)?, &at, add::<T>)?;
    c.set(0, out);
    Ok(())
}

fn run_bool<T: Element + BitOrAssign>(c: &mut OpCall<'_>) -> Result<()> {
    let (out, at) = target(c)?;
    let out = combine(out, c.input(1)?, &at, |t: &mut T, u| *t |= *u)?;
    c.set(0, out);
    Ok(())
}

/// Strings for one index are joined.
fn run_string(c: &mut OpCall<'_>) -> Result<()> {
    let (out, at) = target(c)?;
    let mut items = reserve::filled(out.elements(), bytes::Bytes::new())?;
    at.try_update(&mut items, c.input(1)?.strings()?, |t, u| {
        *t = reserve::join([t.as_ref(), u.as_ref()].into_iter(), b"")?.into();
        Ok(())
    })?;
    c.set(0, Tensor::from_objects(out.shape().clone(), items)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn indices_or_updates_that_do_not_fit_are_refused() {
        let run = |indices, updates, shape| code(call("ScatterNd", &[indices, updates, shape], &[]));
        let (one, three) = (floats(&[1], &[1.0]), ints(&[1], &[3]));
        assert_eq!(run(ints(&[1, 1], &[5]), one.clone(), three.clone()), Code::InvalidArgument);
        assert_eq!(run(ints(&[1, 1], &[0]), floats(&[1, 1], &[1.0]), three.clone()), Code::InvalidArgument);
        assert_eq!(run(ints(&[2, 1], &[0, 0]), one.clone(), three.clone()), Code::InvalidArgument);
        assert_eq!(run(ints(&[1, 2], &[0, 0]), one.clone(), three), Code::InvalidArgument);
        assert_eq!(run(ints(&[1, 1], &[0]), one, ints(&[1], &[0])), Code::InvalidArgument);
    }
}
