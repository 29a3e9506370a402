//! `RangeDataset`: numbers from `start` up or down to `stop`.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::Context;
use super::sequence::{Dataset, Iter, Next, SOURCE, emit, ready};
use crate::prelude::*;

pub static RANGE_DATASET: Op = Op {
    name: "RangeDataset",
    doc: "The numbers from `start`, each `step` further, before `stop`.",
    inputs: &["start: int64", "stop: int64", "step: int64"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
        "replicate_on_split: bool = false",
    ],
    kernels: cpu!(run),
    ..SOURCE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (start, stop, step) = (c.scalar(0)?, c.scalar(1)?, c.scalar::<i64>(2)?);
    if step == 0 {
        return Err(invalid!("step must be a non-zero integer."));
    }
    let types = c.attrs().types("output_types")?;
    let [dtype] = types[..] else {
        return Err(invalid!("a range has one component, got {} types", types.len()));
    };
    let fits = |v: i64| int64_as(v, dtype).map(|_| ());
    fits(0)?;
    emit(c, &[], Range { next: start, stop, step, dtype })
}

#[derive(Clone)]
struct Range {
    next: i64,
    stop: i64,
    step: i64,
    dtype: DataType,
}

impl Range {
    fn is_over(&self) -> bool {
        if self.step > 0 { self.next >= self.stop } else { self.next <= self.stop }
    }
}

impl Dataset for Range {
    fn iterator(&self, _: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(self.clone()))
    }
    fn cardinality(&self) -> i64 {
        if self.is_over() {
            return 0;
        }
        let distance = (i128::from(self.stop) - i128::from(self.next)).unsigned_abs();
        let step = u128::from(self.step.unsigned_abs());
        i64::try_from(distance.div_ceil(step)).unwrap_or(i64::MAX)
    }
    fn random_access(&self) -> Result<()> {
        Ok(())
    }
    fn get<'a>(&'a self, i: usize, _: &'a Context) -> Next<'a> {
        let at = (i as i64).wrapping_mul(self.step).wrapping_add(self.next);
        ready(int64_as(at, self.dtype).map(|v| Some(vec![v])))
    }
}

impl Iter for Range {
    fn next<'a>(&'a mut self, _: &'a Context) -> Next<'a> {
        if self.is_over() {
            return ready(Ok(None));
        }
        let value = int64_as(self.next, self.dtype);
        // Past `i64::MAX` is past the end too.
        self.next = self.next.saturating_add(self.step);
        ready(value.map(|v| Some(vec![v])))
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, _: &'a Context) -> Work<'a> {
        // Without this check, a damaged position before the start is an input of up to 2^64 elements.
        let start = self.next;
        let read = s.number("next", &mut self.next);
        let before = if self.step > 0 { self.next < start } else { self.next > start };
        done(read.and_then(|()| match s.restoring() && before {
            true => Err(invalid!("the state of an iterator is at {}, before its start {start}", self.next)),
            false => Ok(()),
        }))
    }
}

fn int64_as(v: i64, dtype: DataType) -> Result<Tensor> {
    match dtype {
        DataType::Int64 => Ok(Tensor::scalar(v)),
        DataType::Int32 => Ok(Tensor::scalar(v as i32)),
        DataType::Uint64 => Ok(Tensor::scalar(v as u64)),
        other => Tensor::number(v as f64, other),
    }
}
