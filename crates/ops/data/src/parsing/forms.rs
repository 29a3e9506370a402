//! Parsed features as tensors: dense, sparse and ragged.

use super::example::{Form, Parsed, Rows, Want};
use crate::prelude::*;

/// A dense feature: of the batch, or without its dimension if it was one message.
pub fn dense(parsed: Parsed, want: &Want, single: bool) -> Result<Tensor> {
    match (parsed, &want.form) {
        (Parsed::Dense(t), Form::Fixed { shape, .. }) => {
            if single {
                t.reshape(shape.clone())
            } else {
                Ok(t)
            }
        }
        (Parsed::Rows(rows), Form::Padded { shape, stride, default }) => {
            let widest = rows.counts.iter().copied().max().unwrap_or(0);
            let inner: Vec<usize> = match shape.dims() {
                Some([_, inner @ ..]) => inner.iter().map(|d| (*d).max(0) as usize).collect(),
                _ => vec![],
            };
            let dims = [&[widest / (*stride).max(1)], &inner[..]].concat();
            if single {
                return rows.values.into_tensor(Shape::new(&dims)?);
            }
            let dims = [&[rows.counts.len()], &dims[..]].concat();
            rows.values.padded(&rows.counts, widest, default)?.into_tensor(Shape::new(&dims)?)
        }
        _ => Err(internal("a feature was parsed in another form")),
    }
}

/// Indices, values and dense shape.
pub fn sparse(parsed: Parsed, single: bool) -> Result<[Tensor; 3]> {
    let Rows { values, counts } = rows(parsed)?;
    let n = values.len();
    let width = if single { 1 } else { 2 };
    let mut indices = reserve::with_capacity(n.saturating_mul(width))?;
    for (row, count) in counts.iter().enumerate() {
        for i in 0..*count {
            if !single {
                indices.push(row as i64);
            }
            indices.push(i as i64);
        }
    }
    let widest = counts.iter().copied().max().unwrap_or(0) as i64;
    let shape =
        if single { Tensor::vector(&[widest])? } else { Tensor::vector(&[counts.len() as i64, widest])? };
    Ok([
        Tensor::from_slice(Shape::new(&[n, width])?, &indices)?,
        values.into_tensor(Shape::vector(n))?,
        shape,
    ])
}

/// Values and row splits.
pub fn ragged(parsed: Parsed, splits: DataType) -> Result<[Tensor; 2]> {
    let Rows { values, counts } = rows(parsed)?;
    let n = values.len();
    Ok([values.into_tensor(Shape::vector(n))?, row_splits(&counts, splits)?])
}

fn rows(parsed: Parsed) -> Result<Rows> {
    match parsed {
        Parsed::Rows(rows) => Ok(rows),
        Parsed::Dense(_) => Err(internal("a feature was parsed in another form")),
    }
}

/// The running totals of counts, from 0 on.
pub fn row_splits(counts: &[usize], dtype: DataType) -> Result<Tensor> {
    let shape = Shape::vector(counts.len() + 1);
    let mut total = 0usize;
    let mut splits = reserve::with_capacity::<i64>(counts.len() + 1)?;
    splits.push(0);
    for n in counts {
        total = total.saturating_add(*n);
        splits.push(total as i64);
    }
    if dtype == DataType::Int64 {
        return Tensor::from_slice(shape, &splits);
    }
    let narrow =
        |v: &i64| i32::try_from(*v).map_err(|_| invalid!("{v} values are too many for int32 row splits"));
    Tensor::from_slice(shape, &reserve::try_collect(splits.iter().map(narrow))?)
}

/// Sets all outputs. Counts among the attrs (num_sparse) may contradict the lists of types, which decide how many there are.
pub fn set_all(c: &mut OpCall<'_>, tensors: impl IntoIterator<Item = Tensor>) -> Result<()> {
    let mut set = 0;
    for t in tensors {
        c.set(set, t);
        set += 1;
    }
    if c.output_type(set).is_ok() || set.checked_sub(1).is_some_and(|last| c.output_type(last).is_err()) {
        return Err(invalid!(
            "keys and types give {set} outputs; counts such as num_sparse ask for another number"
        ));
    }
    Ok(())
}
