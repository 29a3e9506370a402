//! `SleepDataset`: the elements of another dataset, each after a pause.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Next, emit, input, later};
use crate::prelude::*;
use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

pub static SLEEP_DATASET: Op = Op {
    name: "SleepDataset",
    doc: "The elements of `input_dataset`, each after a pause.",
    inputs: &["input_dataset: variant", "sleep_microseconds: int64"],
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    kernels: cpu!(run),
    ..DATASET
};

pub static EXPERIMENTAL_SLEEP_DATASET: Op = Op { name: "ExperimentalSleepDataset", ..SLEEP_DATASET };

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let (input, pause) = (input(c, 0)?, c.scalar::<i64>(1)?);
    let pause = u64::try_from(pause).map_err(|_| invalid!("`sleep_microseconds` must be >= 0"))?;
    emit(c, &[&input], Sleep { input: input.clone(), pause: Duration::from_micros(pause) })
}

struct Sleep {
    input: DatasetRef,
    pause: Duration,
}

impl Dataset for Sleep {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(SleepIter { input: self.input.iterator(c)?, pause: self.pause }))
    }
    fn cardinality(&self) -> i64 {
        self.input.cardinality()
    }
    fn random_access(&self) -> Result<()> {
        self.input.random_access()
    }
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        self.input.get(i as i64, c)
    }
}

struct SleepIter {
    input: Box<dyn Iter>,
    pause: Duration,
}

impl Iter for SleepIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            sleep(self.pause, c).await?;
            self.input.next(c).await
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move { s.input("input", &mut self.input, c).await })
    }
}

/// The longest time between two looks at the clock.
const SLICE: Duration = Duration::from_secs(3600);

/// Waits, without a thread. Whoever polls it checks for cancellation, which wakes it.
async fn sleep(pause: Duration, c: &Context) -> Result<()> {
    let (start, pool) = (Instant::now(), c.device()?.pool.clone());
    poll_fn(|cx| {
        let left = pause.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Poll::Ready(());
        }
        let waker = cx.waker().clone();
        pool.spawn_at(Instant::now() + left.min(SLICE), Box::new(move || waker.wake()));
        Poll::Pending
    })
    .await;
    Ok(())
}
