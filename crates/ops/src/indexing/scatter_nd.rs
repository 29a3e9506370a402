//! `ScatterNd`: updates added up at coordinates.

use super::tensor_scatter::{add, combine, gather_updates};
use crate::indices::{BadIndices, NdIndices, scatter_nd_shape};
use crate::prelude::*;

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
    kernels: &[
        cpu_row!([("T", DataType::Float)], Make::Plain(run::<f32>)),
        cpu_row!([("T", DataType::Double)], Make::Plain(run::<f64>)),
        cpu_row!([("T", DataType::Half)], Make::Plain(run::<f16>)),
        cpu_row!([("T", DataType::Bfloat16)], Make::Plain(run::<bf16>)),
        cpu_row!([("T", DataType::Int8)], Make::Plain(run::<i8>)),
        cpu_row!([("T", DataType::Int16)], Make::Plain(run::<i16>)),
        cpu_row!([("T", DataType::Int32)], Make::Plain(run::<i32>)),
        cpu_row!([("T", DataType::Int64)], Make::Plain(run::<i64>)),
        cpu_row!([("T", DataType::Uint8)], Make::Plain(run::<u8>)),
        cpu_row!([("T", DataType::Uint16)], Make::Plain(run::<u16>)),
        cpu_row!([("T", DataType::Uint32)], Make::Plain(run::<u32>)),
        cpu_row!([("T", DataType::Uint64)], Make::Plain(run::<u64>)),
        cpu_row!([("T", DataType::Complex64)], Make::Plain(run::<Complex32>)),
        cpu_row!([("T", DataType::Complex128)], Make::Plain(run::<ComplexDouble>)),
        cpu_row!([("T", DataType::Bool)], Make::Plain(run_bool)),
        cpu_row!([("T", DataType::String)], Make::Plain(run_string)),
    ],
    cases: |r| {
        vec![
            Case::new(vec![r.ints(&[3, 1], 0, 4), r.tensor(&[3, 2]), int_vector(&[4, 2])]),
            Case::new(vec![r.ints(&[2, 2, 2], 0, 3), r.tensor(&[2, 2]), int_vector(&[3, 3])]),
        ]
    },
    host_inputs: &["shape"],
    ..Op::PURE
};

/// Zeros of the shape asked for, and where the updates go.
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

fn run_bool(c: &mut OpCall<'_>) -> Result<()> {
    let (out, at) = target(c)?;
    let out = combine(out, c.input(1)?, &at, |t: &mut bool, u: &bool| *t |= u)?;
    c.set(0, out);
    Ok(())
}

/// Strings for one place are joined.
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
