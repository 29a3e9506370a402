//! `SparseSlice`: a box of a sparse tensor, and its gradient.

use super::coordinates::{check_sparse, example, matrix};
use super::entries::{Entries, sparse_shape};
use crate::prelude::*;
use crate::rows::pick;

pub static OPS: &[&Op] = &[&SPARSE_SLICE, &SPARSE_SLICE_GRAD];

static SPARSE_SLICE: Op = Op {
    name: "SparseSlice",
    doc: "The elements of a sparse tensor inside the box of size `size` at `start`, which is cut off at the end of the tensor.",
    inputs: &["indices: int64", "values: T", "shape: int64", "start: int64", "size: int64"],
    outputs: &["output_indices: int64", "output_values: T", "output_shape: int64"],
    attrs: &["T: type"],
    shape: |c| {
        let (_, rank) = check_sparse(c, 0)?;
        let rank = merge_dim(rank, c.rank(3, 1)?.dim(0))?;
        Ok(sparse_shape(merge_dim(rank, c.rank(4, 1)?.dim(0))?))
    },
    grad: Rule(|g| {
        let dy = g.dy_or_zeros(1)?;
        let (indices, start, found) = (g.x[0], g.x[3], g.y[0]);
        let dx = g.op("SparseSliceGrad", [dy.into(), indices.into(), start.into(), found.into()], &[])?;
        Ok(vec![Grad::None, dx.into(), Grad::None, Grad::None, Grad::None])
    }),
    kernels: cpu!(run),
    cases: |r| {
        let mut case = |start: &[i64], size: &[i64]| {
            let all = example(&[0, 1, 1, 1, 1, 2, 3, 0], r.tensor(&[4]), &[4, 3]);
            Case::new(all.into_iter().chain(Tensor::vector(start)).chain(Tensor::vector(size)).collect())
        };
        vec![case(&[1, 1], &[2, 9]), case(&[0, 0], &[4, 1]), case(&[9, 0], &[1, 1])]
    },
    ..Op::PURE
};

static SPARSE_SLICE_GRAD: Op = Op {
    name: "SparseSliceGrad",
    doc: "The gradient of SparseSlice by the values: that of the elements in the slice, zero for the others.",
    inputs: &["backprop_val_grad: T", "input_indices: int64", "input_start: int64", "output_indices: int64"],
    outputs: &["val_grad: T"],
    attrs: &["T: numbertype"],
    shape: |c| {
        c.rank(0, 1)?;
        let (inside, start, found) = (c.rank(1, 2)?, c.rank(2, 1)?, c.rank(3, 2)?);
        merge_dim(merge_dim(inside.dim(1), start.dim(0))?, found.dim(1))?;
        Ok(vec![PartialShape::vector(inside.dim(0))])
    },
    kernels: cpu!(run_grad: T in f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex32, ComplexDouble),
    cases: |r| {
        let at = matrix(3, 2, &[0, 1, 1, 1, 1, 2]).into_iter();
        let inputs = [r.tensor(&[2])].into_iter().chain(at).chain(Tensor::vector(&[1i64, 1]));
        vec![Case::new(inputs.chain(matrix(2, 2, &[0, 0, 0, 1])).collect())]
    },
    ..Op::PURE
};

fn box_vector(c: &OpCall<'_>, i: usize, name: &str, rank: usize) -> Result<Vec<i64>> {
    let t = c.input(i)?;
    if t.rank() != 1 {
        return Err(invalid!("Input {name} should be a vector but received shape {}", t.shape()));
    }
    if t.elements() != rank {
        return Err(invalid!(
            "Expected {name} to be a vector of length {rank} but got length {}",
            t.elements()
        ));
    }
    t.to_i64s()
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let all = Entries::of(c, 0)?;
    let (start, size) = (box_vector(c, 3, "start", all.rank())?, box_vector(c, 4, "size", all.rank())?);
    if let Some(n) = size.iter().find(|n| **n < 0) {
        return Err(invalid!("Expected a non-negative size, got {n}"));
    }
    if let Some(n) = all.dims.iter().find(|n| **n < 0) {
        return Err(invalid!("Expected shape dimensions to be non-negative, got {n}"));
    }
    let bounds = || start.iter().zip(&size);
    let inside =
        |row: &[i64]| row.iter().zip(bounds()).all(|(at, (s, n))| at >= s && *at < s.saturating_add(*n));
    let picks = reserve::collect((0..all.count()).filter(|i| inside(all.row(*i))))?;
    let mut at = reserve::with_capacity(picks.len().saturating_mul(all.rank()))?;
    for i in &picks {
        at.extend(all.row(*i).iter().zip(&start).map(|(at, s)| at.wrapping_sub(*s)));
    }
    let dims: Vec<i64> = reserve::collect(
        all.dims
            .iter()
            .zip(bounds())
            .map(|(n, (s, size))| size.min(&n.saturating_sub(*s)).max(&0).to_owned()),
    )?;
    let values = pick(c, all.values, 1, &picks, Shape::vector(picks.len()))?;
    c.set(0, matrix(picks.len(), dims.len(), &at)?);
    c.set(1, values);
    c.set(2, Tensor::vector(&dims)?);
    Ok(())
}

fn run_grad<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    let (dy, inside, found) = (c.input(0)?, c.input(1)?, c.input(3)?);
    if dy.rank() != 1 || inside.rank() != 2 || found.rank() != 2 {
        return Err(invalid!(
            "Input backprop_val_grad should be a vector, input_indices and output_indices matrices, but received \
             shapes {}, {} and {}",
            dy.shape(),
            inside.shape(),
            found.shape()
        ));
    }
    let (rank, rows) = (inside.shape()[1], found.shape()[0]);
    if found.shape()[1] != rank {
        return Err(invalid!(
            "The input and output should have the same ndims: got: {rank} and {}",
            found.shape()[1]
        ));
    }
    let start = box_vector(c, 2, "input_start", rank)?;
    if rows > inside.shape()[0] {
        return Err(invalid!(
            "# rows of output_indices should be not greater than of input_indices, got {rows} and {}",
            inside.shape()[0]
        ));
    }
    if dy.elements() != rows {
        return Err(invalid!(
            "# elements of backprop_val_grad and # rows of output_indices should match (#nnz of sum): got {} and {rows}",
            dy.elements()
        ));
    }
    let (dy, inside, found) = (dy.as_slice::<T>()?, inside.as_slice::<i64>()?, found.as_slice::<i64>()?);
    let mut out = Tensor::zeros(T::DTYPE, Shape::vector(c.shape(1)?[0]))?;
    let mut used = 0;
    for (i, to) in out.as_mut_slice::<T>()?.iter_mut().enumerate() {
        let Some(next) = found.get(used * rank..(used + 1) * rank).filter(|_| used < rows) else { break };
        let row = &inside[i * rank..(i + 1) * rank];
        if row.iter().zip(next.iter().zip(&start)).all(|(at, (to, s))| at.wrapping_sub(*s) == *to) {
            *to = dy[used];
            used += 1;
        }
    }
    if used != rows {
        // TensorFlow says Internal; it is the indices' fault.
        return Err(invalid!(
            "Elements of backprop_val_grad aren't all propagated. Num elements:{rows}, used: {used}"
        ));
    }
    c.set(0, out);
    Ok(())
}
