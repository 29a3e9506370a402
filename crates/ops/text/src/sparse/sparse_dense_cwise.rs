//! `SparseDenseCwiseAdd`, `SparseDenseCwiseMul`, `SparseDenseCwiseDiv`: sparse elements combined with the dense ones
//! at their indices.

use super::coordinates::{Coordinates, check_sparse, example};
use crate::prelude::*;

pub static SPARSE_DENSE_CWISE_MUL: Op = Op {
    name: "SparseDenseCwiseMul",
    doc: "The values of a sparse tensor * those of a dense one, broadcast, at their indices.",
    inputs: &["sp_indices: int64", "sp_values: T", "sp_shape: int64", "dense: T"],
    outputs: &["output: T"],
    attrs: &["T: numbertype"],
    shape: |c| Ok(vec![PartialShape::vector(check_sparse(c, 0)?.0)]),
    grad: Rule(|g| grad(g, false)),
    kernels: cpu!(mul: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    cases,
    ..Op::PURE
};

pub static SPARSE_DENSE_CWISE_DIV: Op = Op {
    name: "SparseDenseCwiseDiv",
    doc: "The values of a sparse tensor / those of a dense one, broadcast, at their indices.",
    grad: Rule(|g| grad(g, true)),
    kernels: cpu!(div: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    ..SPARSE_DENSE_CWISE_MUL
};

pub static SPARSE_DENSE_CWISE_ADD: Op = Op {
    name: "SparseDenseCwiseAdd",
    doc: "The values of a sparse tensor + those of a dense one, broadcast, at their indices.",
    grad: Missing,
    kernels: cpu!(add: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    ..SPARSE_DENSE_CWISE_MUL
};

fn cases(r: &mut CaseGen) -> Vec<Case> {
    let mut case = |dense: &[usize]| {
        let sparse = example(&[0, 1, 1, 0, 1, 2], r.tensor(&[3]), &[2, 3]);
        Case::new(sparse.into_iter().chain([r.tensor(dense)]).collect())
    };
    vec![case(&[2, 3]), case(&[3]), case(&[2, 1])]
}

/// Gathers from the dense tensor at the sparse indices, divided by the broadcast factor of each dimension.
fn grad(g: &mut GradCall<'_>, division: bool) -> Result<Vec<Grad>> {
    let (indices, values, shape, dense, dy) = (g.x[0], g.x[1], g.x[2], g.x[3], g.dy()?);
    let long = [("out_type", Attr::Type(DataType::Int64))];
    let dense_shape = g.op("Shape", [dense.into()], &long)?;
    let (rank, dense_rank) =
        (g.op("Size", [shape.into()], &long)?, g.op("Size", [dense_shape.into()], &long)?);
    let added = g.binary("Sub", rank, dense_rank)?;
    let axis = g.constant(Tensor::scalar(0i32))?;
    let count = g.op("ExpandDims", [added.into(), axis.into()], &[])?;
    let one = g.constant(Tensor::scalar(1i64))?;
    let ones = g.op("Fill", [count.into(), one.into()], &[])?;
    let full = g.op("ConcatV2", [vec![ones, dense_shape].into(), axis.into()], &[])?;
    let times = g.binary("FloorDiv", shape, full)?;
    let scaled = g.binary("FloorDiv", indices, times)?;
    let zero = g.constant(Tensor::vector(&[0i64])?)?;
    let begin = g.op("ConcatV2", [vec![zero, count].into(), axis.into()], &[])?;
    let all = g.constant(Tensor::vector(&[-1i64, -1])?)?;
    let scaled = g.op("Slice", [scaled.into(), begin.into(), all.into()], &[])?;
    let met = g.binary("GatherNd", dense, scaled)?;
    let (dvalues, each) = if division {
        let (dx, square) = (g.binary("RealDiv", dy, met)?, g.unary("Square", met)?);
        let slope = g.binary("RealDiv", values, square)?;
        let slope = g.unary("Neg", slope)?;
        (dx, g.binary("Mul", dy, slope)?)
    } else {
        (g.binary("Mul", dy, met)?, g.binary("Mul", dy, values)?)
    };
    let ddense = g.op("ScatterNd", [scaled.into(), each.into(), dense_shape.into()], &[])?;
    Ok(vec![Grad::None, dvalues.into(), Grad::None, ddense.into()])
}

fn mul<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run::<T>(c, |x, y| Ok(x.mul(y)))
}

fn add<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run::<T>(c, |x, y| Ok(x.add(y)))
}

fn div<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    run::<T>(c, |x, y| match T::DTYPE.is_integer() && y == T::ZERO {
        true => Err(invalid!("SparseDenseCwiseDiv cannot divide by zero")),
        false => Ok(x.div(y)),
    })
}

fn run<T: Number>(c: &mut OpCall<'_>, f: fn(T, T) -> Result<T>) -> Result<()> {
    if c.shape(1)?.rank() != 1 {
        return Err(invalid!("sp_values must be a vector, got shape {}", c.shape(1)?));
    }
    let (values, dense) = (c.slice::<T>(1)?, c.slice::<T>(3)?);
    let sparse = Coordinates::of(c, 0, 2, values.len())?;
    let dims = c.shape(3)?;
    let added = sparse.shape.rank().checked_sub(dims.rank());
    let fits = |added: usize| dims.iter().zip(&sparse.shape[added..]).all(|(d, s)| d == s || *d == 1);
    let Some(added) = added.filter(|added| fits(*added)) else {
        return Err(invalid!(
            "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: {} vs. {dims}",
            sparse.shape
        ));
    };
    // Size 1 broadcasts: stride 0.
    let steps: Vec<usize> =
        dims.iter().zip(dims.strides()).map(|(d, s)| if *d == 1 { 0 } else { s }).collect();
    let place =
        |row: &[i64]| row[added..].iter().zip(&steps).map(|(at, step)| *at as usize * step).sum::<usize>();
    let out = reserve::try_collect(sparse.rows().zip(values).map(|(row, x)| f(*x, dense[place(row)])))?;
    c.set(0, Tensor::vector(&out)?);
    Ok(())
}
