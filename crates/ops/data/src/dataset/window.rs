//! `WindowDataset`: windows of elements, each component of which is a dataset.

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

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let number = |i: usize, name: &str| match c.scalar::<i64>(i)? {
        n @ 1.. => Ok(n as usize),
        n => Err(invalid!("Window {name} must be greater than zero, got {n}.")),
    };
    let (size, shift, stride) = (number(1, "size")?, number(2, "shift")?, number(3, "stride")?);
    let (input, drop_remainder) = (input(c, 0)?, c.scalar(4)?);
    emit(c, &[&input], Window { input: input.clone(), size, shift, stride, drop_remainder })
}

#[derive(Clone)]
struct Window {
    input: DatasetRef,
    size: usize,
    shift: usize,
    stride: usize,
    drop_remainder: bool,
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
            let window = self.made()?;
            for _ in 0..self.window.shift.min(self.ahead.len()) {
                self.ahead.pop();
            }
            self.skip = self.window.shift.saturating_sub(span);
            Ok(Some(window))
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
    /// The window at the front of the buffer: a dataset for each component.
    fn made(&self) -> Result<Tuple> {
        let (of, every) = (&self.window.input, self.window.stride);
        let rows = || (0..self.ahead.len()).step_by(every).take(self.window.size);
        let column = |i: usize| {
            let part = |at: usize| {
                let part = self.ahead.get(at).and_then(|element| element.get(i)).cloned();
                Ok(vec![part.ok_or_else(|| invalid!("an element of a window has no component {i}"))?])
            };
            let elements = reserve::try_collect(rows().map(part))?;
            let (dtype, shape) = (of.types[i], of.shapes[i].clone());
            Ok(tensor_of(list(vec![dtype], vec![shape], elements)?))
        };
        (0..of.types.len()).map(column).collect()
    }
}
