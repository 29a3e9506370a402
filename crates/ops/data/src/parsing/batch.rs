//! A batch of serialized messages divided over the threads of the pool.

use crate::prelude::*;
use bytes::Bytes;
use std::ops::Range;
use thalweg_math::parallel::Parallel;

/// Fewer bytes than this are not worth another thread.
const GRAIN: usize = 16 << 10;

/// The parts of a batch, of about as many rows each: more than there are threads, as rows differ in length.
pub fn parts(rows: &[Bytes], par: &dyn Parallel) -> Result<Vec<Range<usize>>> {
    let bytes = rows.iter().map(Bytes::len).fold(0, usize::saturating_add);
    let most = if par.threads() == 1 { 1 } else { par.threads().saturating_mul(4) };
    let size = rows.len().div_ceil((bytes / GRAIN).clamp(1, most)).max(1);
    reserve::collect((0..rows.len()).step_by(size).map(|i| i..(i + size).min(rows.len())))
}

/// The rows of a batch: a vector of serialized messages, or one as a scalar.
pub struct Batch<'a> {
    pub rows: &'a [Bytes],
    /// Names of the rows for errors; empty if there are none.
    pub names: &'a [Bytes],
    /// One message, whose results have no batch dimension.
    pub single: bool,
}

impl<'a> Batch<'a> {
    pub fn of(serialized: &'a Tensor, names: Option<&'a Tensor>) -> Result<Batch<'a>> {
        if serialized.rank() > 1 {
            let shape = serialized.shape();
            return Err(invalid!("Expected serialized to be a scalar or vector, got shape: {shape}"));
        }
        let mut batch = Batch { rows: serialized.strings()?, names: &[], single: serialized.rank() == 0 };
        if let Some(names) = names
            && names.elements() > 0
        {
            if names.shape() != serialized.shape() {
                return Err(invalid!(
                    "Expected names have the same shape as serialized: name.shape={}, serialized.shape={}",
                    names.shape(),
                    serialized.shape()
                ));
            }
            batch.names = names.strings()?;
        }
        Ok(batch)
    }

    /// The name of a row in errors.
    pub fn name(&self, row: usize) -> Lossy<'_> {
        Lossy(self.names.get(row).map_or(b"<unknown>", |n| n))
    }
}
