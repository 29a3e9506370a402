//! `PrefetchDataset`: elements prefetched by a producer.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::{Context, or_stopped};
use super::element_buffer::ElementBuffer;
use super::sequence::{DATASET, Dataset, DatasetRef, Element, Iter, Next, Tuple, emit, input, later};
use super::task::Task;
use crate::prelude::*;
use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Poll, Waker};
use thalweg_core::cancel::Cancellation;
use thalweg_core::sync::lock;

pub static PREFETCH_DATASET: Op = Op {
    name: "PrefetchDataset",
    doc: "The elements of `input_dataset`, up to `buffer_size` of them prefetched while the consumer works.",
    inputs: &["input_dataset: variant", "buffer_size: int64"],
    attrs: &[
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "slack_period: int = 0",
        "legacy_autotune: bool = true",
        "buffer_size_min: int = 0",
        "metadata: string = ''",
    ],
    kernels: cpu!(run),
    ..DATASET
};

/// The buffer size for autotuning.
const AUTOTUNED: usize = 4;

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let input = input(c, 0)?;
    let size = match c.scalar::<i64>(1)? {
        -1 => AUTOTUNED,
        n => usize::try_from(n)
            .map_err(|_| invalid!("buffer_size must be >= 0 or set to be auto-tuned, got {n}"))?,
    };
    emit(c, &[&input], Prefetch { input: input.clone(), size })
}

struct Prefetch {
    input: DatasetRef,
    size: usize,
}

impl Dataset for Prefetch {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let input = self.input.iterator(c)?;
        if self.size == 0 {
            return Ok(input);
        }
        let shared = Arc::new(Shared { size: self.size, buffer: Mutex::default(), end: Arc::default() });
        Ok(Box::new(PrefetchIter { input: Some(input), shared }))
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

struct PrefetchIter {
    /// Moved to the producer when an element is requested. `None` too once it has ended.
    input: Option<Box<dyn Iter>>,
    shared: Arc<Shared>,
}

struct Shared {
    size: usize,
    buffer: Mutex<Buffer>,
    /// Cancels the producer.
    end: Arc<Cancellation>,
}

#[derive(Default)]
struct Buffer {
    elements: ElementBuffer,
    /// The error, or the end, after the buffer.
    last: Option<Result<()>>,
    /// The producer has ended, and it gives up its input here unless that has ended too.
    abandoned: bool,
    returned: Option<Box<dyn Iter>>,
    /// A checkpoint waits for the producer to end.
    recalled: bool,
    producer: Option<Waker>,
    consumer: Option<Waker>,
}

impl Iter for PrefetchIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            if let Some(input) = self.idle_input() {
                {
                    let mut buffer = lock(&self.shared.buffer);
                    (buffer.abandoned, buffer.recalled) = (false, false);
                }
                let context = c.without_cancellation().until(&self.shared.end);
                let producer = Producer { shared: self.shared.clone(), input: Some(input) };
                Task::spawn(&c.device()?, produce(producer, context));
            }
            let shared = &self.shared;
            poll_fn(move |cx| {
                let mut buffer = lock(&shared.buffer);
                let element = buffer.take();
                if element.is_none() {
                    buffer.consumer = Some(cx.waker().clone());
                }
                let producer = buffer.producer.take();
                drop(buffer);
                producer.into_iter().for_each(Waker::wake);
                element.map_or(Poll::Pending, Poll::Ready)
            })
            .await
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            self.recall().await;
            s.input_until_end("input", &mut self.input, c).await?;
            let mut buffer = lock(&self.shared.buffer);
            s.elements("buffer", &mut buffer.elements)?;
            // Nothing, the end, or an error is last.
            let mut is_last = buffer.last.is_some();
            s.flag("last", &mut is_last)?;
            let mut last: Element = match &buffer.last {
                Some(Err(e)) => Err(e.clone()),
                _ => Ok(None),
            };
            s.outcome("outcome", &mut last)?;
            buffer.last = is_last.then(|| last.map(|_| ()));
            // There is no producer now.
            buffer.abandoned = true;
            Ok(())
        })
    }
}

impl PrefetchIter {
    /// The input, if no producer has it.
    fn idle_input(&mut self) -> Option<Box<dyn Iter>> {
        self.input.take().or_else(|| lock(&self.shared.buffer).returned.take())
    }

    /// Waits for the element that the producer is about, and takes the input from it. The next request starts another.
    async fn recall(&mut self) {
        let shared = &self.shared;
        if self.input.is_none() {
            poll_fn(|cx| {
                let mut buffer = lock(&shared.buffer);
                if buffer.abandoned {
                    return Poll::Ready(());
                }
                buffer.recalled = true;
                buffer.consumer = Some(cx.waker().clone());
                let producer = buffer.producer.take();
                drop(buffer);
                producer.into_iter().for_each(Waker::wake);
                Poll::Pending
            })
            .await;
        }
        self.input = self.idle_input();
    }
}

impl Buffer {
    fn take(&mut self) -> Option<Element> {
        if let Some(tuple) = self.elements.pop() {
            return Some(Ok(Some(tuple)));
        }
        match self.last.take() {
            Some(Err(e)) => Some(Err(e)),
            Some(Ok(())) => {
                self.last = Some(Ok(()));
                Some(Ok(None))
            }
            None if self.abandoned => Some(Err(cancelled("the elements ahead are no longer made"))),
            None => None,
        }
    }

    fn add(&mut self, element: Element) -> bool {
        let added = match element {
            Ok(Some(tuple)) => self.put(tuple),
            Ok(None) => {
                self.last = Some(Ok(()));
                return false;
            }
            Err(e) => Err(e),
        };
        if let Err(e) = added {
            self.last = Some(Err(e));
        }
        true
    }

    fn put(&mut self, tuple: Tuple) -> Result<()> {
        self.elements.push(tuple)
    }

    fn has_room(&self, size: usize) -> bool {
        self.elements.len() < size && self.last.is_none()
    }
}

/// Wakes the consumer when the producer is dropped, for whatever reason, so that it does not wait for ever.
struct Producer {
    shared: Arc<Shared>,
    /// `None` once it has ended.
    input: Option<Box<dyn Iter>>,
}

impl Drop for Producer {
    fn drop(&mut self) {
        let consumer = {
            let mut buffer = lock(&self.shared.buffer);
            buffer.abandoned = true;
            buffer.returned = self.input.take();
            buffer.consumer.take()
        };
        consumer.into_iter().for_each(Waker::wake);
    }
}

/// Fills the buffer until the input or the consumer ends, or a checkpoint recalls the input.
async fn produce(mut producer: Producer, c: Context) {
    let Producer { shared, input } = &mut producer;
    while let Some(from) = input {
        let room = poll_fn(|cx| {
            let mut buffer = lock(&shared.buffer);
            if shared.end.is_cancelled() || buffer.recalled {
                return Poll::Ready(false);
            }
            if buffer.has_room(shared.size) {
                return Poll::Ready(true);
            }
            buffer.producer = Some(cx.waker().clone());
            Poll::Pending
        });
        if !room.await {
            return;
        }
        let element = or_stopped(from.next(&c), &c).await;
        let (more, consumer) = {
            let mut buffer = lock(&shared.buffer);
            (buffer.add(element), buffer.consumer.take())
        };
        consumer.into_iter().for_each(Waker::wake);
        if !more {
            *input = None;
        }
    }
}

impl Drop for PrefetchIter {
    fn drop(&mut self) {
        self.shared.end.cancel(cancelled("the iterator has ended"));
        let producer = lock(&self.shared.buffer).producer.take();
        producer.into_iter().for_each(Waker::wake);
    }
}
