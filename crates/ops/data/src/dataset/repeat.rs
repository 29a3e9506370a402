//! `RepeatDataset`: a dataset repeated.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::sequence::{DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, emit, input, later, ready};
use crate::prelude::*;

pub static REPEAT_DATASET: Op = Op {
    name: "RepeatDataset",
    doc: "The elements of `input_dataset`, repeated `count` times; infinitely if negative.",
    inputs: &["input_dataset: variant", "count: int64"],
    kernels: cpu!(run),
    ..DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (input, count) = (input(c, 0)?, c.scalar(1)?);
    emit(c, &[&input], Repeat { input: input.clone(), count })
}

struct Repeat {
    input: DatasetRef,
    /// Negative: without end.
    count: i64,
}

impl Dataset for Repeat {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let (input, inner) = (self.input.clone(), c.without_cancellation());
        // Begun at once, as TensorFlow does: a shuffle takes its seeds here.
        let pass = if self.count == 0 { None } else { Some(self.input.iterator(c)?) };
        Ok(Box::new(RepeatIter { input, left: self.count, pass, given: false, inner }))
    }
    fn cardinality(&self) -> i64 {
        match (self.input.cardinality(), self.count) {
            (0, _) | (_, 0) => 0,
            (n, count) if count < 0 && n != super::sequence::UNKNOWN => INFINITE,
            (n, count) if n > 0 => n.checked_mul(count).unwrap_or(INFINITE),
            (n, _) => n,
        }
    }
    fn random_access(&self) -> Result<()> {
        match self.count {
            ..0 => {
                Err(failed_precondition("`repeat(-1)` does not support random access of tf.data datasets."))
            }
            _ => self.input.random_access(),
        }
    }
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        self.input.get((i as i64) % self.input.cardinality().max(1), c)
    }
}

struct RepeatIter {
    input: DatasetRef,
    left: i64,
    pass: Option<Box<dyn Iter>>,
    /// Whether this iteration produced an element.
    given: bool,
    /// The context for new iterators.
    inner: Context,
}

impl Iter for RepeatIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        if self.left == 0 {
            return ready(Ok(None));
        }
        later(async move {
            while self.left != 0 {
                c.check()?;
                let pass = match &mut self.pass {
                    Some(pass) => pass,
                    none => none.insert(self.input.iterator(&self.inner)?),
                };
                if let Some(element) = pass.next(c).await? {
                    self.given = true;
                    return Ok(Some(element));
                }
                self.pass = None;
                if self.left > 0 {
                    self.left -= 1;
                } else if !self.given {
                    // An empty dataset repeated infinitely would never produce an element.
                    self.left = 0;
                }
                self.given = false;
            }
            Ok(None)
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.number("left", &mut self.left)?;
            s.flag("given", &mut self.given)?;
            let open = || self.input.iterator(&self.inner);
            s.input_or_none("pass", &mut self.pass, open, c).await
        })
    }
}
