//! `Sum`: the accumulated gradients, dense or sparse.

use crate::elementwise::{for_chunks, tile2};
use crate::prelude::*;
use thalweg_math::parallel::Parallel;

/// A gradient of one worker.
pub enum Gradient {
    Dense(Tensor),
    Rows(Rows),
}

pub struct Rows {
    pub indices: Vec<i64>,
    pub values: Tensor,
    /// The dense shape, where the worker knows it.
    pub shape: Option<Vec<i64>>,
}

/// The arithmetic for one element type.
#[derive(Clone, Copy)]
pub struct Arithmetic {
    add: fn(&dyn Parallel, &mut Tensor, &Tensor) -> Result<()>,
    /// Divides each row of this many elements by its own count.
    divide: fn(&mut Tensor, usize, &[u32]) -> Result<()>,
    /// Merges sparse rows.
    merge: fn(&Tensor, &Tensor, &[Source], &Shape) -> Result<Tensor>,
}

impl Arithmetic {
    pub fn of<T: Number>() -> Arithmetic {
        Arithmetic { add: add::<T>, divide: divide::<T>, merge: merge::<T> }
    }
}

/// The source of a row of a merged sum: row numbers of the sum and of the gradient.
pub enum Source {
    Sum(usize),
    Gradient(usize),
    Both(usize, usize),
}

pub enum Sum {
    Dense(Option<Tensor>),
    Rows(Option<RowSum>),
}

pub struct RowSum {
    indices: Vec<i64>,
    values: Tensor,
    /// How many gradients each row is the sum of.
    counts: Vec<u32>,
}

impl Sum {
    /// Validates and adds a gradient; an invalid one leaves the sum unchanged.
    pub fn add(
        &mut self,
        gradient: Gradient,
        shape: &PartialShape,
        by: &Arithmetic,
        par: &dyn Parallel,
    ) -> Result<()> {
        match (self, gradient) {
            (Sum::Dense(sum), Gradient::Dense(g)) => {
                check_dense(sum.as_ref(), shape, &g)?;
                match sum {
                    None => *sum = Some(g),
                    Some(sum) => (by.add)(par, sum, &g)?,
                }
            }
            (Sum::Rows(sum), Gradient::Rows(g)) => {
                check_rows(sum.as_ref(), shape, &g)?;
                *sum = Some(match sum.take() {
                    None => {
                        let counts = reserve::filled(g.indices.len(), 1)?;
                        RowSum { counts, indices: g.indices, values: g.values }
                    }
                    Some(old) => match merged(&old, &g, by) {
                        Ok(new) => new,
                        Err(e) => {
                            *sum = Some(old);
                            return Err(e);
                        }
                    },
                });
            }
            (Sum::Dense(_), _) => return Err(invalid!("the accumulator takes dense gradients, got rows")),
            (Sum::Rows(_), _) => return Err(invalid!("the accumulator takes rows, got a dense gradient")),
        }
        Ok(())
    }

    /// Takes the sum, as the outputs of a take; divided by the number of gradients for a mean. Rows are divided by
    /// the number of gradients that had them.
    pub fn take(
        &mut self,
        count: u32,
        mean: bool,
        shape: &PartialShape,
        by: &Arithmetic,
    ) -> Result<Vec<Tensor>> {
        let nothing = || internal("the accumulator has no gradient to give");
        match self {
            Sum::Dense(sum) => {
                let mut sum = sum.take().ok_or_else(nothing)?;
                if mean {
                    let all = sum.elements().max(1);
                    (by.divide)(&mut sum, all, &[count])?;
                }
                Ok(vec![sum])
            }
            Sum::Rows(sum) => {
                let mut sum = sum.take().ok_or_else(nothing)?;
                if mean {
                    let run = sum.values.shape().without(0).elements();
                    (by.divide)(&mut sum.values, run, &sum.counts)?;
                }
                let mut whole = sum.values.shape().to_i64();
                if let Some(rows) = whole.first_mut() {
                    *rows = shape.dims().and_then(|d| d.first().copied()).unwrap_or(-1);
                }
                Ok(vec![Tensor::vector(&sum.indices)?, sum.values, Tensor::vector(&whole)?])
            }
        }
    }
}

fn check_dense(sum: Option<&Tensor>, shape: &PartialShape, g: &Tensor) -> Result<()> {
    let differs = |expected: &dyn std::fmt::Display| -> Error {
        invalid!("Shape mismatch: expected {expected}, got {}", g.shape())
    };
    match sum {
        Some(sum) if sum.shape() != g.shape() => Err(differs(sum.shape())),
        _ if !shape.allows(g.shape()) => Err(differs(shape)),
        _ => Ok(()),
    }
}

fn check_rows(sum: Option<&RowSum>, shape: &PartialShape, g: &Rows) -> Result<()> {
    let expected = shape.dims().unwrap_or(&[]);
    let fits = |want: i64, got: i64| want == -1 || want == got;
    if let Some(whole) = &g.shape {
        if expected.len() > whole.len() {
            return Err(invalid!(
                "Shape mismatch: expected shape rank at least {}, got {}",
                expected.len(),
                whole.len()
            ));
        }
        if let Some((i, (want, got))) =
            expected.iter().zip(whole).enumerate().find(|(_, (w, g))| !fits(**w, **g))
        {
            return Err(invalid!("Shape mismatch: expected shape dim {i} to be {want}, got {got}"));
        }
    }
    let rows = expected.first().copied().filter(|d| *d != -1).unwrap_or(i64::MAX);
    if let Some((i, at)) = g.indices.iter().enumerate().find(|(_, at)| **at >= rows) {
        return Err(invalid!(
            "Shape mismatch: index of slice {i} exceeded limits of shape; index is {at} exceeded {rows}"
        ));
    }
    let got = g.values.shape().to_i64();
    let held = sum.map(|s| s.values.shape().to_i64());
    match &held {
        Some(held) if held.len() != got.len() => {
            return Err(invalid!("Shape mismatch: expected values rank {}, got {}", held.len(), got.len()));
        }
        None if expected.len() > got.len() => {
            return Err(invalid!(
                "Shape mismatch: expected values rank at least {}, got {}",
                expected.len(),
                got.len()
            ));
        }
        _ => {}
    }
    let want = held.as_deref().unwrap_or(expected);
    match want.iter().zip(&got).enumerate().skip(1).find(|(_, (w, g))| !fits(**w, **g)) {
        Some((i, (want, got))) => {
            Err(invalid!("Shape mismatch: expected values dim {i} to be {want}, got {got}"))
        }
        None => Ok(()),
    }
}

/// Merges the sorted rows of both: as TensorFlow, it relies on the rows of each gradient being sorted.
fn merged(sum: &RowSum, g: &Rows, by: &Arithmetic) -> Result<RowSum> {
    let most = sum.indices.len() + g.indices.len();
    let mut sources = reserve::with_capacity(most)?;
    let (mut indices, mut counts) = (reserve::with_capacity(most)?, reserve::with_capacity(most)?);
    let (mut i, mut j) = (0, 0);
    loop {
        let (source, index, count) = match (sum.indices.get(i), g.indices.get(j)) {
            (Some(a), Some(b)) if a == b => (Source::Both(i, j), *a, sum.counts[i].saturating_add(1)),
            (Some(a), b) if b.is_none_or(|b| a < b) => (Source::Sum(i), *a, sum.counts[i]),
            (_, Some(b)) => (Source::Gradient(j), *b, 1),
            _ => break,
        };
        i += usize::from(!matches!(source, Source::Gradient(_)));
        j += usize::from(!matches!(source, Source::Sum(_)));
        sources.push(source);
        indices.push(index);
        counts.push(count);
    }
    let shape = g.values.shape().with(0, sources.len())?;
    let values = (by.merge)(&sum.values, &g.values, &sources, &shape)?;
    Ok(RowSum { indices, values, counts })
}

fn add<T: Number>(par: &dyn Parallel, sum: &mut Tensor, g: &Tensor) -> Result<()> {
    let g = g.as_slice::<T>()?;
    for_chunks(par, sum.as_mut_slice::<T>()?, &|range, sum| {
        sum.iter_mut().zip(&g[range]).for_each(|(x, d)| *x = x.add(*d));
    });
    Ok(())
}

fn divide<T: Number>(sum: &mut Tensor, run: usize, counts: &[u32]) -> Result<()> {
    for (values, count) in sum.as_mut_slice::<T>()?.chunks_mut(run.max(1)).zip(counts) {
        let count = T::from_i64(i64::from(*count));
        values.iter_mut().for_each(|x| *x = x.div(count));
    }
    Ok(())
}

fn merge<T: Number>(sum: &Tensor, g: &Tensor, sources: &[Source], shape: &Shape) -> Result<Tensor> {
    let run = shape.without(0).elements();
    let (sum, g) = (sum.as_slice::<T>()?, g.as_slice::<T>()?);
    let row = |of: &'_ [T], i: usize| -> std::ops::Range<usize> {
        (i * run).min(of.len())..((i + 1) * run).min(of.len())
    };
    Tensor::build::<T>(shape.clone(), |out| {
        for (out, source) in out.chunks_mut(run.max(1)).zip(sources) {
            match source {
                Source::Sum(i) => out.copy_from_slice(&sum[row(sum, *i)]),
                Source::Gradient(j) => out.copy_from_slice(&g[row(g, *j)]),
                Source::Both(i, j) => {
                    tile2(&sum[row(sum, *i)], &g[row(g, *j)], out, |a: T, b| b.add(a));
                }
            }
        }
    })
}
