//! `WindowDataset`: windows of elements, each component of which is a dataset; `SlidingWindowDataset`: of which it is a batch.

use super::batch::stacked;
use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::element_buffer::ElementBuffer;
use super::list::list;
use super::sequence::{
    DATASET, Dataset, DatasetRef, INFINITE, Iter, Next, Tuple, UNKNOWN, emit, input, later, tensor_of,
};
use crate::prelude::*;

pub static WINDOW_DATASET: Op = Op {
    name: "WindowDataset",
    doc: "Windows of `size` elements, `stride` apart, one every `shift` elements: a dataset for each component.",
    inputs: &[
        "input_dataset: variant",
        "size: int64",
        "shift: int64",
        "stride: int64",
        "drop_remainder: bool",
    ],
    kernels: cpu!(run),
    ..DATASET
};

pub static SLIDING_WINDOW_DATASET: Op = Op {
    name: "SlidingWindowDataset",
    doc: "Batches of `window_size` elements, `window_stride` apart, one every `window_shift` elements.",
    inputs: &["input_dataset: variant", "window_size: int64", "window_shift: int64", "window_stride: int64"],
    attrs: &[
        "drop_remainder: bool = true",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
    ],
    kernels: cpu!(sliding),
    ..DATASET
};

pub static EXPERIMENTAL_SLIDING_WINDOW_DATASET: Op = Op {
    name: "ExperimentalSlidingWindowDataset",
    attrs: &["output_types: list(type) >= 1", "output_shapes: list(shape) >= 1"],
    ..SLIDING_WINDOW_DATASET
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let drop_remainder = c.scalar(4)?;
    windows(c, drop_remainder, Windows::datasets)
}

fn sliding(c: &mut OpCall<'_>) -> Result<()> {
    let attrs = c.attrs();
    let drop_remainder = attrs.get("drop_remainder").is_none() || attrs.bool("drop_remainder")?;
    windows(c, drop_remainder, Windows::batch)
}

fn windows(c: &mut OpCall<'_>, drop_remainder: bool, make: Make) -> Result<()> {
    let number = |i: usize, name: &str| match c.scalar::<i64>(i)? {
        n @ 1.. => Ok(n as usize),
        n => Err(invalid!("Window {name} must be greater than zero, got {n}.")),
    };
    let (size, shift, stride) = (number(1, "size")?, number(2, "shift")?, number(3, "stride")?);
    let input = input(c, 0)?;
    emit(c, &[&input], Window { input: input.clone(), size, shift, stride, drop_remainder, make })
}

/// What a window is made of at the front of the buffer.
type Make = fn(&Windows) -> Result<Tuple>;

#[derive(Clone)]
struct Window {
    input: DatasetRef,
    size: usize,
    shift: usize,
    stride: usize,
    drop_remainder: bool,
    make: Make,
}

impl Window {
    /// The elements from the first to the last of a window.
    fn span(&self) -> usize {
        (self.size - 1).saturating_mul(self.stride).saturating_add(1)
    }
}

impl Dataset for Window {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let input = Some(self.input.iterator(c)?);
        Ok(Box::new(Windows { window: self.clone(), input, ahead: ElementBuffer::default(), skip: 0 }))
    }
    fn cardinality(&self) -> i64 {
        let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let (span, shift) = (signed(self.span()), signed(self.shift));
        match self.input.cardinality() {
            n @ (UNKNOWN | INFINITE) => n,
            n if self.drop_remainder && n < span => 0,
            n if self.drop_remainder => (n - span) / shift + 1,
            n => n / shift + i64::from(n % shift > 0),
        }
    }
}

struct Windows {
    window: Window,
    /// `None` once it has ended.
    input: Option<Box<dyn Iter>>,
    /// Elements of the next window.
    ahead: ElementBuffer,
    /// Elements between windows that are yet to be skipped.
    skip: usize,
}

impl Iter for Windows {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            let span = self.window.span();
            while let (Some(input), true) = (&mut self.input, self.skip > 0 || self.ahead.len() < span) {
                c.check()?;
                match input.next(c).await? {
                    Some(_) if self.skip > 0 => self.skip -= 1,
                    Some(element) => self.ahead.push(element)?,
                    None => self.input = None,
                }
            }
            if self.ahead.len() == 0 || self.ahead.len() < span && self.window.drop_remainder {
                return Ok(None);
            }
            let window = (self.window.make)(self);
            // Also after a window that cannot be stacked: the iterator goes on with the next.
            for _ in 0..self.window.shift.min(self.ahead.len()) {
                self.ahead.pop();
            }
            self.skip = self.window.shift.saturating_sub(span);
            window.map(Some)
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            s.number("skip", &mut self.skip)?;
            s.elements("ahead", &mut self.ahead)?;
            s.input_until_end("input", &mut self.input, c).await
        })
    }
}

impl Windows {
    /// The places of its elements.
    fn rows(&self) -> impl Iterator<Item = usize> {
        (0..self.ahead.len()).step_by(self.window.stride).take(self.window.size)
    }

    /// A batch of each component.
    fn batch(&self) -> Result<Tuple> {
        stacked(reserve::collect(self.rows().filter_map(|at| self.ahead.get(at).cloned()))?)
    }

    /// A dataset for each component.
    fn datasets(&self) -> Result<Tuple> {
        let of = &self.window.input;
        let column = |i: usize| {
            let part = |at: usize| {
                let part = self.ahead.get(at).and_then(|element| element.get(i)).cloned();
                Ok(vec![part.ok_or_else(|| invalid!("an element of a window has no component {i}"))?])
            };
            let elements = reserve::try_collect(self.rows().map(part))?;
            let (dtype, shape) = (of.types[i], of.shapes[i].clone());
            Ok(tensor_of(list(vec![dtype], vec![shape], elements)?))
        };
        (0..of.types.len()).map(column).collect()
    }
}
