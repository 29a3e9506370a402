//! Paddings: a matrix with a row [before, after] for each dimension.

use crate::prelude::*;

/// The rows; negative padding is an error.
pub fn paddings(values: &[i64], rank: usize) -> Result<Vec<(usize, usize)>> {
    if values.len() != 2 * rank {
        return Err(invalid!(
            "The first dimension of paddings must be the rank of inputs, {rank}, but there are {} numbers",
            values.len()
        ));
    }
    let size = |v: i64| {
        usize::try_from(v).map_err(|_| invalid!("Paddings must be non-negative: got {v} in {values:?}"))
    };
    values.chunks(2).map(|row| Ok((size(row[0])?, size(row[1])?))).collect()
}

/// The paddings that are input `i` of a kernel.
pub fn paddings_input(c: &OpCall<'_>, i: usize, rank: usize) -> Result<Vec<(usize, usize)>> {
    let t = c.input(i)?;
    let [rows, 2] = *t.shape().dims() else {
        return Err(invalid!("paddings must be a matrix with 2 columns: {}", t.shape()));
    };
    if rows != rank {
        return Err(invalid!(
            "The first dimension of paddings must be the rank of inputs{} {}",
            t.shape(),
            c.shape(0)?
        ));
    }
    paddings(&t.to_i64s()?, rank)
}

/// The shape of input 0 padded by input `i`.
pub fn padded_shape(c: &ShapeCall<'_>, i: usize) -> Result<PartialShape> {
    let p = c.rank(i, 2)?;
    merge_dim(p.dim(1), 2)?;
    let values = c.ints(i);
    let rows = match (&values, p.dim(0)) {
        (Some(v), -1) => v.len() as i64 / 2,
        (_, rows) => rows,
    };
    let x = if rows >= 0 { c.rank(0, rows as usize)? } else { c.input(0) };
    let Some(dims) = x.dims() else { return Ok(x) };
    let Some(values) = values else { return Ok(PartialShape::unknown_of_rank(dims.len())) };
    let sum = |(d, (before, after)): (&i64, (usize, usize))| match *d {
        -1 => Ok(-1),
        d => padded_size(d as usize, before, after).map(|n| n as i64),
    };
    dims.iter().zip(paddings(&values, dims.len())?).map(sum).collect()
}

pub fn padded_size(size: usize, before: usize, after: usize) -> Result<usize> {
    size.checked_add(before)
        .and_then(|n| n.checked_add(after))
        .filter(|n| i64::try_from(*n).is_ok())
        .ok_or_else(|| invalid!("a dimension of {size} padded by {before} and {after} is too large"))
}
