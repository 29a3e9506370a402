//! `RebatchDatasetV2`, `RebatchDataset`: batches put together and split into others.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Next, Tuple, emit, input, later};
use crate::prelude::*;
use crate::rows::join;

pub static REBATCH_DATASET_V2: Op = Op {
    name: "RebatchDatasetV2",
    doc: "The rows of all batches, in batches of `batch_sizes` in turn.",
    inputs: &["input_dataset: variant", "batch_sizes: int64", "drop_remainder: bool"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    kernels: cpu!(by_sizes),
    ..DATASET
};

pub static REBATCH_DATASET: Op = Op {
    name: "RebatchDataset",
    doc: "Each batch split into `num_replicas`, all but the last of one size.",
    inputs: &["input_dataset: variant", "num_replicas: int64"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1", "use_fallback: bool = true"],
    kernels: cpu!(by_replicas),
    ..DATASET
};

pub static EXPERIMENTAL_REBATCH_DATASET: Op = Op { name: "ExperimentalRebatchDataset", ..REBATCH_DATASET };

fn by_sizes(c: &mut OpCall<'_>) -> Result<()> {
    let (input, sizes) = (input(c, 0)?, c.input(1)?);
    if sizes.rank() > 1 {
        return Err(invalid!("batch_sizes must be a scalar or a vector, got shape {}", sizes.shape()));
    }
    let sizes = sizes.to_i64s()?;
    let size =
        |n: &i64| usize::try_from(*n).map_err(|_| invalid!("batch_sizes must not be negative, got {n}"));
    let sizes = reserve::try_collect(sizes.iter().map(size))?;
    if sizes.iter().all(|n| *n == 0) {
        return Err(invalid!("batch_sizes must have a size that is greater than zero"));
    }
    let drop_remainder = c.scalar(2)?;
    emit(c, &[&input], Rebatch { input: input.clone(), sizes: sizes.into(), drop_remainder })
}

fn by_replicas(c: &mut OpCall<'_>) -> Result<()> {
    let (input, replicas) = (input(c, 0)?, c.scalar::<i64>(1)?);
    let replicas = match usize::try_from(replicas) {
        Ok(n) if n > 0 => n,
        _ => return Err(invalid!("num_replicas must be greater than zero, got {replicas}.")),
    };
    emit(c, &[&input], Split { input: input.clone(), replicas })
}

/// The number of rows, which is that of all components.
pub fn rows_of(batch: &[Tensor]) -> Result<usize> {
    let mut rows = None;
    for (i, t) in batch.iter().enumerate() {
        let Some(n) = t.shape().first().copied() else {
            return Err(invalid!("Input element must have a non-scalar value in each component."));
        };
        let first = *rows.get_or_insert(n);
        if first != n {
            return Err(invalid!(
                "Input element must have the same batch size in each component. Component 0 had size {first} but \
                 component {i} had size, {n}."
            ));
        }
    }
    Ok(rows.unwrap_or(0))
}

struct Rebatch {
    input: DatasetRef,
    sizes: Arc<[usize]>,
    drop_remainder: bool,
}

impl Dataset for Rebatch {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let input = Some(self.input.iterator(c)?);
        let (sizes, drop_remainder) = (self.sizes.clone(), self.drop_remainder);
        Ok(Box::new(RebatchIter { input, sizes, drop_remainder, turn: 0, left: None }))
    }
}

struct RebatchIter {
    input: Option<Box<dyn Iter>>,
    sizes: Arc<[usize]>,
    drop_remainder: bool,
    /// Which size is next.
    turn: usize,
    /// The rows of a batch that are not used yet; it may have none.
    left: Option<Tuple>,
}

impl Iter for RebatchIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            let want = self.sizes.get(self.turn).copied().unwrap_or(1);
            let (mut pieces, mut have) = (Vec::new(), 0);
            loop {
                c.check()?;
                if let Some(left) = &mut self.left {
                    let rows = rows_of(left)?;
                    let taken = rows.min(want - have);
                    let piece: Tuple = left.iter().map(|t| t.rows(0, taken)).collect::<Result<_>>()?;
                    *left = left.iter().map(|t| t.rows(taken, rows - taken)).collect::<Result<_>>()?;
                    have += taken;
                    if taken > 0 || want == 0 {
                        reserve::push(&mut pieces, piece)?;
                    }
                    // An empty batch is made of any, even of a used one.
                    if have == want {
                        break;
                    }
                }
                let Some(input) = &mut self.input else { break };
                match input.next(c).await? {
                    Some(batch) => {
                        rows_of(&batch)?;
                        self.left = Some(batch);
                    }
                    None => {
                        self.input = None;
                        self.left = None;
                    }
                }
            }
            if pieces.is_empty() || have < want && self.drop_remainder {
                return Ok(None);
            }
            self.turn = (self.turn + 1) % self.sizes.len().max(1);
            joined(&pieces).map(Some)
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.number("turn", &mut self.turn)?;
            s.element("left", &mut self.left)?;
            s.input_until_end("input", &mut self.input, c).await
        })
    }
}

/// Batches one after another as one.
fn joined(pieces: &[Tuple]) -> Result<Tuple> {
    if let [one] = pieces {
        return reserve::copied(one);
    }
    let components = pieces.first().map_or(0, Vec::len);
    (0..components).map(|i| component(pieces, i)).collect()
}

fn component(pieces: &[Tuple], i: usize) -> Result<Tensor> {
    let parts = reserve::collect(pieces.iter().filter_map(|p| p.get(i).cloned()))?;
    let Some(first) = parts.first() else { return Err(internal("a batch without parts")) };
    let each = first.shape().without(0);
    if let Some(odd) = parts.iter().find(|p| p.rank() == 0 || p.shape().without(0) != each) {
        return Err(invalid!(
            "Cannot put rows of different shapes into one batch: {} and {} in component {i}",
            first.shape(),
            odd.shape()
        ));
    }
    let rows: usize = parts.iter().filter_map(|p| p.shape().first()).sum();
    join(first.dtype(), Shape::new(&[&[rows], each.dims()].concat())?, &parts)
}

struct Split {
    input: DatasetRef,
    replicas: usize,
}

impl Dataset for Split {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let input = Some(self.input.iterator(c)?);
        Ok(Box::new(SplitIter { input, replicas: self.replicas, batch: None, given: 0 }))
    }
}

struct SplitIter {
    input: Option<Box<dyn Iter>>,
    replicas: usize,
    batch: Option<Tuple>,
    /// Parts of the batch that were given.
    given: usize,
}

impl Iter for SplitIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            if self.batch.is_none() || self.given >= self.replicas {
                let Some(input) = &mut self.input else { return Ok(None) };
                (self.batch, self.given) = (input.next(c).await?, 0);
            }
            let Some(batch) = &self.batch else {
                self.input = None;
                return Ok(None);
            };
            let rows = rows_of(batch)?;
            let each = rows.div_ceil(self.replicas);
            let start = self.given.saturating_mul(each).min(rows);
            let part = batch.iter().map(|t| t.rows(start, each.min(rows - start))).collect::<Result<_>>()?;
            self.given += 1;
            Ok(Some(part))
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.element("batch", &mut self.batch)?;
            s.number("given", &mut self.given)?;
            s.input_until_end("input", &mut self.input, c).await
        })
    }
}
