//! Products with parts of a cell's weights.

use crate::prelude::*;
use thalweg_math::gemm::{Epilogue, MatMut, MatRef, ShapeError, gemm};
use thalweg_math::parallel::Parallel;

fn internal_size(e: ShapeError) -> Error {
    internal(e.to_string())
}

/// `out = a * b + bias`, or added to `out`. `out` has rows of `stride`, of which the first columns are written.
pub fn product(
    par: &dyn Parallel,
    a: MatRef<'_, f32>,
    b: MatRef<'_, f32>,
    (out, stride): (&mut [f32], usize),
    bias: Option<&[f32]>,
    accumulate: bool,
) -> Result<()> {
    let out = MatMut::new(out, a.rows(), b.cols(), stride).map_err(internal_size)?;
    gemm(par, a, b, out, Epilogue { accumulate, bias, relu: false }).map_err(internal_size)
}

pub fn matrix(data: &[f32], rows: usize, cols: usize) -> Result<MatRef<'_, f32>> {
    MatRef::row_major(data, rows, cols).map_err(internal_size)
}

/// The first columns of a matrix with rows of `stride`.
pub fn columns(data: &[f32], rows: usize, cols: usize, stride: usize) -> Result<MatRef<'_, f32>> {
    MatRef::new(data, rows, cols, stride, 1).map_err(internal_size)
}

/// The rows of weights by `x`, and by `h`.
pub fn by_input_and_state(
    w: &[f32],
    inputs: usize,
    units: usize,
    cols: usize,
) -> Result<[MatRef<'_, f32>; 2]> {
    let (x, h) = w.split_at(inputs * cols);
    Ok([matrix(x, inputs, cols)?, matrix(h, units, cols)?])
}

/// Adds the sum of the rows of a matrix to a vector.
pub fn add_rows(data: &[f32], stride: usize, sums: &mut [f32]) {
    for row in data.chunks_exact(stride.max(1)) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
}
