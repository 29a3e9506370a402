//! Batches of matrices in the innermost two dimensions: their shapes, and a loop over them on all threads.

use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use std::sync::Mutex;
use thalweg_core::sync::lock;
use thalweg_math::decompose::Decompose;
use thalweg_math::parallel::Parallel;

/// Element types with decompositions.
pub trait Field: Element + Decompose {}
impl<T: Element + Decompose> Field for T {}

/// Operations that one thread does at least.
const GRAIN: usize = 1 << 15;

/// The batch dimensions of an input, and rows and columns of its matrices.
pub fn matrices(c: &OpCall<'_>, i: usize) -> Result<(Shape, [usize; 2])> {
    match c.shape(i)?.dims() {
        [batch @ .., rows, cols] => Ok((Shape::new(batch)?, [*rows, *cols])),
        dims => Err(invalid!("Input tensor {i} must have rank >= 2, got {}", dims.len())),
    }
}

/// As `matrices`, of square ones.
pub fn square_matrices(c: &OpCall<'_>, i: usize) -> Result<(Shape, usize)> {
    match matrices(c, i)? {
        (batch, [rows, cols]) if rows == cols => Ok((batch, rows)),
        (_, [rows, cols]) => Err(invalid!("Input matrix must be square, got {rows} by {cols}.")),
    }
}

/// All inputs have the batch dimensions of the first.
pub fn same_batches(c: &OpCall<'_>, count: usize) -> Result<()> {
    let (first, _) = matrices(c, 0)?;
    for i in 1..count {
        if c.shape(i)?.rank() != c.shape(0)?.rank() {
            return Err(invalid!("All input tensors must have the same rank."));
        }
        if matrices(c, i)?.0 != first {
            return Err(invalid!("All input tensors must have the same outer dimensions."));
        }
    }
    Ok(())
}

/// Batch dimensions, then others.
pub fn joined(batch: &Shape, tail: &[usize]) -> Result<Shape> {
    Shape::new(&[batch.dims(), tail].concat())
}

/// A slice in equal parts, which may be empty.
pub fn parts<T>(mut data: &mut [T], count: usize) -> impl Iterator<Item = &mut [T]> {
    let len = data.len() / count.max(1);
    (0..count).map(move |_| {
        let (part, rest) = std::mem::take(&mut data).split_at_mut(len);
        data = rest;
        part
    })
}

/// Part `i` of a slice in parts of `len` elements.
pub fn part<T>(data: &[T], i: usize, len: usize) -> &[T] {
    data.get(i * len..(i + 1) * len).unwrap_or_default()
}

/// Calls `work` for each item, on all threads; `cost` is the number of operations that it takes. The error of the first item that
/// fails is returned.
pub fn each<I: Send>(
    par: &dyn Parallel,
    items: impl Iterator<Item = I>,
    cost: usize,
    work: &(dyn Fn(usize, &mut I) -> Result<()> + Sync),
) -> Result<()> {
    let mut items = reserve::collect(items)?;
    let failed = Mutex::new(None::<(usize, Error)>);
    for_chunks_of(par, &mut items, 1, (GRAIN / cost.max(1)).max(1), &|range, items| {
        for (i, item) in range.zip(items) {
            if let Err(e) = work(i, item) {
                let mut failed = lock(&failed);
                if failed.as_ref().is_none_or(|(at, _)| i < *at) {
                    *failed = Some((i, e));
                }
            }
        }
    });
    let failed = lock(&failed).take();
    failed.map_or(Ok(()), |(_, e)| Err(e))
}

/// The number of operations of a decomposition.
pub fn cubed(n: usize) -> usize {
    n.saturating_mul(n).saturating_mul(n)
}

/// For each square matrix another of its size.
pub fn map_square<T: Field>(
    c: &mut OpCall<'_>,
    f: impl Fn(&dyn Parallel, &[T], usize, &mut [T]) -> Result<()> + Sync,
) -> Result<()> {
    let (batch, n) = square_matrices(c, 0)?;
    let mut out = Tensor::uninit(T::DTYPE, c.shape(0)?.clone())?;
    if out.elements() > 0 {
        let (par, x) = (c.par(), c.slice::<T>(0)?);
        let out = parts(out.as_mut_slice::<T>()?, batch.elements());
        each(par, out, cubed(n), &|i, out| f(par, part(x, i, n * n), n, out))?;
    }
    c.set(0, out);
    Ok(())
}

/// Square matrices keep their shape.
pub fn square_shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (batch, n) = known_square(c, 0)?;
    Ok(vec![with(&batch, &[n, n], c.input(0))])
}

/// As far as known: the batch dimensions and the size of square matrices.
pub fn known_square(c: &ShapeCall<'_>, i: usize) -> Result<(Option<Vec<i64>>, i64)> {
    let (batch, [rows, cols]) = known(c, i)?;
    Ok((batch, merge_dim(rows, cols)?))
}

/// As far as known: the batch dimensions, rows and columns.
pub fn known(c: &ShapeCall<'_>, i: usize) -> Result<(Option<Vec<i64>>, [i64; 2])> {
    Ok(match c.rank_at_least(i, 2)?.dims() {
        Some([batch @ .., rows, cols]) => (Some(batch.to_vec()), [*rows, *cols]),
        _ => (None, [-1, -1]),
    })
}

/// Batch dimensions, if known, and others.
pub fn with(batch: &Option<Vec<i64>>, tail: &[i64], otherwise: PartialShape) -> PartialShape {
    match batch {
        Some(batch) => batch.iter().chain(tail).copied().collect(),
        None if otherwise.dims().is_none() => PartialShape::unknown(),
        None => otherwise,
    }
}

/// Two batches, which must be equal.
pub fn merged(a: Option<Vec<i64>>, b: Option<Vec<i64>>) -> Result<Option<Vec<i64>>> {
    match (a, b) {
        (Some(a), Some(b)) => {
            let both = a.into_iter().collect::<PartialShape>().merge(&b.into_iter().collect())?;
            Ok(both.dims().map(<[i64]>::to_vec))
        }
        (a, b) => Ok(a.or(b)),
    }
}

/// A kernel for halves: computes in floats.
pub fn in_floats(c: &mut OpCall<'_>, run: fn(&mut OpCall<'_>) -> Result<()>) -> Result<()> {
    use crate::convert::converted;
    c.inputs[0] = Input::Owned(converted(c.input(0)?, DataType::Float)?);
    run(c)?;
    for out in c.outputs.iter_mut().flatten() {
        if let Value::Tensor(t) = out {
            *t = converted(t, DataType::Half)?;
        }
    }
    Ok(())
}

/// Symmetric and positive definite matrices, for cases.
pub fn definite(r: &mut CaseGen, dims: &[usize]) -> Tensor {
    let mut x = r.range(dims, -0.3, 0.3);
    let n = dims.last().copied().unwrap_or(0);
    if let (Ok(values), 1..) = (x.as_mut_slice::<f32>(), n) {
        for matrix in values.chunks_exact_mut(n * n) {
            for i in 0..n {
                (0..i).for_each(|j| matrix[j * n + i] = matrix[i * n + j]);
                matrix[i * n + i] = 1.5 + (n - i) as f32;
            }
        }
    }
    x
}

/// Matrices with a diagonal that dominates and descends: well conditioned, with singular values far apart.
pub fn dominant(r: &mut CaseGen, dims: &[usize]) -> Tensor {
    let mut x = r.range(dims, -0.3, 0.3);
    if let (Ok(values), [.., m, n]) = (x.as_mut_slice::<f32>(), dims) {
        for matrix in values.chunks_exact_mut((m * n).max(1)) {
            (0..*m.min(n)).for_each(|i| matrix[i * n + i] += 2.0 + (m.min(n) - i) as f32);
        }
    }
    x
}
