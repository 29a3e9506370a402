//! `TensorScatterUpdate`, `-Add`, `-Sub`, `-Min`, `-Max`, `ScatterNdNonAliasingAdd`: scatters into a copy.

use crate::indices::{BadIndices, NdIndices, scatter_nd_shape};
use crate::moving::{Scatter, apply};
use crate::prelude::*;
use std::ops::BitOrAssign;

pub static TENSOR_SCATTER_UPDATE: Op = Op {
    name: "TensorScatterUpdate",
    doc: "The tensor with the updates written at the coordinates in `indices`.",
    inputs: &["tensor: T", "indices: Tindices", "updates: T"],
    outputs: &["output: T"],
    attrs: &["T: type", "Tindices: {int16, int32, int64, uint16}", "bad_indices_policy: string = ''"],
    shape: |c| Ok(vec![scatter_nd_shape(&c.input(0), &c.input(1), &c.input(2))?]),
    grad: Rule(grad_update),
    kernels: cpu!(update),
    cases: |r| {
        let column = int_vector(&[2, 0]).reshape(Shape::new(&[2, 1]).unwrap_or_default()).into_iter();
        column.map(|at| Case::new(vec![r.tensor(&[4, 2]), at, r.tensor(&[2, 2])])).collect()
    },
    ..Op::PURE
};

pub static TENSOR_SCATTER_ADD: Op = Op {
    name: "TensorScatterAdd",
    doc: "The tensor with the updates added at the coordinates in `indices`.",
    attrs: &["T: type", "Tindices: {int32, int64}", "bad_indices_policy: string = ''"],
    grad: Rule(|g| {
        let (dy, indices) = (g.dy()?, g.x[1]);
        Ok(vec![dy.into(), Grad::None, gather_updates(g, indices)?.into()])
    }),
    kernels: cpu!(run_add: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    cases: |r| {
        vec![
            Case::new(vec![r.tensor(&[4, 2]), r.ints(&[5, 1], 0, 4), r.tensor(&[5, 2])]),
            Case::new(vec![r.tensor(&[4, 2]), r.ints(&[3, 2], 0, 2), r.tensor(&[3])]),
        ]
    },
    ..TENSOR_SCATTER_UPDATE
};

pub static TENSOR_SCATTER_SUB: Op = Op {
    name: "TensorScatterSub",
    doc: "The tensor with the updates subtracted at the coordinates in `indices`.",
    grad: Rule(|g| {
        let (dy, indices) = (g.dy()?, g.x[1]);
        let taken = gather_updates(g, indices)?;
        Ok(vec![dy.into(), Grad::None, g.unary("Neg", taken)?.into()])
    }),
    kernels: cpu!(run_sub: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    ..TENSOR_SCATTER_ADD
};

pub static TENSOR_SCATTER_MIN: Op = Op {
    name: "TensorScatterMin",
    doc: "The tensor with the smaller of it and the updates at the coordinates in `indices`.",
    grad: Rule(grad_extreme),
    kernels: cpu!(run_min: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    ..TENSOR_SCATTER_ADD
};

pub static TENSOR_SCATTER_MAX: Op = Op {
    name: "TensorScatterMax",
    doc: "The tensor with the larger of it and the updates at the coordinates in `indices`.",
    kernels: cpu!(run_max: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64),
    ..TENSOR_SCATTER_MIN
};

pub static SCATTER_ND_NON_ALIASING_ADD: Op = Op {
    name: "ScatterNdNonAliasingAdd",
    doc: "The input with the updates added at the coordinates in `indices`.",
    inputs: &["input: T", "indices: Tindices", "updates: T"],
    attrs: &[
        "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}",
        "Tindices: {int32, int64}",
        "bad_indices_policy: string = ''",
    ],
    kernels: cpu!(plain_add: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble; plain_or: T in bool),
    ..TENSOR_SCATTER_ADD
};

/// The gradient of the updates: gathered at the coordinates.
pub fn gather_updates(g: &mut GradCall<'_>, indices: Output) -> Result<Output> {
    let dy = g.dy()?;
    g.binary("GatherNd", dy, indices)
}

fn grad_update(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (indices, updates, dy) = (g.x[1], g.x[2], g.dy()?);
    let zeros = g.unary("ZerosLike", updates)?;
    let dx = g.op("TensorScatterUpdate", [dy.into(), indices.into(), zeros.into()], &[])?;
    Ok(vec![dx.into(), Grad::None, gather_updates(g, indices)?.into()])
}

/// The gradient flows to whatever was selected, in equal parts on ties.
fn grad_extreme(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, indices, updates, y, dy) = (g.x[0], g.x[1], g.x[2], g.y[0], g.dy()?);
    let number = [("DstT", g.graph.dtype(dy).into())];
    let equal = g.binary("Equal", x, y)?;
    let from_x = g.op("Cast", [equal.into()], &number)?;
    let there = g.binary("GatherNd", y, indices)?;
    let equal = g.binary("Equal", updates, there)?;
    let from_updates = g.op("Cast", [equal.into()], &number)?;
    let shape = g.op("Shape", [x.into()], &[("out_type", g.graph.dtype(indices).into())])?;
    let counts = g.op("ScatterNd", [indices.into(), from_updates.into(), shape.into()], &[])?;
    let counts = g.binary("AddV2", from_x, counts)?;
    let share = g.binary("RealDiv", dy, counts)?;
    let dx = g.binary("Mul", share, from_x)?;
    let taken = g.binary("GatherNd", share, indices)?;
    let du = g.binary("Mul", taken, from_updates)?;
    Ok(vec![dx.into(), Grad::None, du.into()])
}

/// The indices, with all shapes validated.
fn target(c: &OpCall<'_>) -> Result<NdIndices> {
    let (shape, updates) = (c.shape(0)?, c.shape(2)?);
    if shape.elements() == 0 && (c.shape(1)?.elements() > 0 || updates.elements() > 0) {
        return Err(invalid!(
            "Indices and updates specified for empty output.  indices shape: {}",
            c.shape(1)?
        ));
    }
    let at = NdIndices::scattering(c.input(1)?, shape, BadIndices::of(c.attrs())?)?;
    at.check_updates(updates, shape)?;
    Ok(at)
}

/// As `target`, for TensorScatter ops: stricter than `ScatterNd`, which accepts a vector of indices as a column.
fn strict_target(c: &OpCall<'_>) -> Result<NdIndices> {
    let (shape, updates) = (c.shape(0)?, c.shape(2)?);
    if let [outer @ .., depth] = c.shape(1)?.dims()
        && (updates.rank() as i64 - outer.len() as i64) != shape.rank() as i64 - *depth as i64
    {
        return Err(invalid!(
            "Inner dimensions of output shape must match inner dimensions of updates shape. Output: {shape} updates: {updates}"
        ));
    }
    target(c)
}

fn update(c: &mut OpCall<'_>) -> Result<()> {
    let at = strict_target(c)?;
    let mut out = c.take(0)?;
    apply(&Scatter { run: at.run, places: &at.places, one_for_all: false }, c.input(2)?, &mut out)?;
    c.set(0, out);
    Ok(())
}

/// Applies the updates to a tensor elementwise.
pub fn combine<T: Element>(
    mut out: Tensor,
    updates: &Tensor,
    at: &NdIndices,
    change: fn(&mut T, &T),
) -> Result<Tensor> {
    at.update(out.as_mut_slice::<T>()?, updates.as_slice::<T>()?, change);
    Ok(out)
}

pub fn add<T: Number>(t: &mut T, u: &T) {
    *t = t.add(*u);
}

fn run<T: Element>(c: &mut OpCall<'_>, change: fn(&mut T, &T)) -> Result<()> {
    let at = strict_target(c)?;
    changed(c, &at, change)
}

fn changed<T: Element>(c: &mut OpCall<'_>, at: &NdIndices, change: fn(&mut T, &T)) -> Result<()> {
    let x = c.take(0)?;
    let out = combine(x, c.input(2)?, at, change)?;
    c.set(0, out);
    Ok(())
}

fn run_add<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, add::<T>)
}

fn run_sub<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, |t: &mut T, u| *t = t.sub(*u))
}

fn run_min<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, |t: &mut T, u| *t = t.smaller(*u))
}

fn run_max<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    run(c, |t: &mut T, u| *t = t.larger(*u))
}

fn plain_add<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let at = target(c)?;
    changed(c, &at, add::<T>)
}

fn plain_or<T: Element + BitOrAssign>(c: &mut OpCall<'_>) -> Result<()> {
    let at = target(c)?;
    changed(c, &at, |t: &mut T, u| *t |= *u)
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, code, floats, ints};

    #[test]
    fn a_vector_of_indices_is_no_column_of_them() {
        let (x, at, updates) = (floats(&[1], &[1.0]), ints(&[1], &[0]), floats(&[1], &[3.0]));
        assert_eq!(code(call("TensorScatterSub", &[x, at, updates], &[])), Code::InvalidArgument);
    }

    #[test]
    fn the_input_is_not_changed_where_others_hold_it() {
        let x = floats(&[5], &[1.0; 5]);
        let y =
            call("TensorScatterAdd", &[x.clone(), ints(&[1, 1], &[2]), floats(&[1], &[3.0])], &[]).unwrap();
        assert_eq!(y[0].as_slice::<f32>().unwrap(), &[1.0, 1.0, 4.0, 1.0, 1.0]);
        assert_eq!(x.as_slice::<f32>().unwrap(), &[1.0; 5]);
    }

    #[test]
    fn indices_or_updates_that_do_not_fit_are_refused() {
        let x = floats(&[2], &[1.0, 2.0]);
        let one = floats(&[1], &[1.0]);
        for (indices, updates) in [
            (ints(&[1, 1], &[5]), one.clone()),
            (ints(&[2, 1], &[0, 1]), one.clone()),
            (ints(&[], &[0]), one),
        ] {
            for op in ["TensorScatterUpdate", "TensorScatterAdd"] {
                let r = call(op, &[x.clone(), indices.clone(), updates.clone()], &[]);
                assert_eq!(code(r), Code::InvalidArgument);
            }
        }
    }
}
