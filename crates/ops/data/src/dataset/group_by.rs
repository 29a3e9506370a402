//! `GroupByReducerDataset`, `GroupByWindowDataset`: elements by a key, reduced at the end or in windows.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::element_buffer::ElementBuffer;
use super::function::{Function, Opened};
use super::list::list;
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Next, Tuple, emit, input, later, tensor_of};
use crate::prelude::*;
use std::collections::BTreeMap;

pub static GROUP_BY_REDUCER_DATASET: Op = Op {
    name: "GroupByReducerDataset",
    doc: "One element for each key: its elements reduced, in order of the keys.",
    inputs: &[
        "input_dataset: variant",
        "key_func_other_arguments: Tkey_func_other_arguments",
        "init_func_other_arguments: Tinit_func_other_arguments",
        "reduce_func_other_arguments: Treduce_func_other_arguments",
        "finalize_func_other_arguments: Tfinalize_func_other_arguments",
    ],
    attrs: &[
        "key_func: func",
        "init_func: func",
        "reduce_func: func",
        "finalize_func: func",
        "Tkey_func_other_arguments: list(type) >= 0",
        "Tinit_func_other_arguments: list(type) >= 0",
        "Treduce_func_other_arguments: list(type) >= 0",
        "Tfinalize_func_other_arguments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
    ],
    kernels: cpu!(reducer),
    stateful: true,
    ..DATASET
};

pub static EXPERIMENTAL_GROUP_BY_REDUCER_DATASET: Op =
    Op { name: "ExperimentalGroupByReducerDataset", ..GROUP_BY_REDUCER_DATASET };

pub static GROUP_BY_WINDOW_DATASET: Op = Op {
    name: "GroupByWindowDataset",
    doc: "The datasets that `reduce_func` makes of a key and so many elements of it as `window_size_func` says.",
    inputs: &[
        "input_dataset: variant",
        "key_func_other_arguments: Tkey_func_other_arguments",
        "reduce_func_other_arguments: Treduce_func_other_arguments",
        "window_size_func_other_arguments: Twindow_size_func_other_arguments",
    ],
    attrs: &[
        "key_func: func",
        "reduce_func: func",
        "window_size_func: func",
        "Tkey_func_other_arguments: list(type) >= 0",
        "Treduce_func_other_arguments: list(type) >= 0",
        "Twindow_size_func_other_arguments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: cpu!(windows),
    ..DATASET
};

pub static EXPERIMENTAL_GROUP_BY_WINDOW_DATASET: Op = Op {
    name: "ExperimentalGroupByWindowDataset",
    attrs: &[
        "key_func: func",
        "reduce_func: func",
        "window_size_func: func",
        "Tkey_func_other_arguments: list(type) >= 0",
        "Treduce_func_other_arguments: list(type) >= 0",
        "Twindow_size_func_other_arguments: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
    ],
    ..GROUP_BY_WINDOW_DATASET
};

/// Most keys of one iterator.
const MAX_KEYS: usize = 1 << 24;

fn reducer(c: &mut OpCall<'_>) -> Result<()> {
    let input = input(c, 0)?;
    let functions = Reducer {
        key: Function::of(c, "key_func", 1)?,
        init: Function::of(c, "init_func", 2)?,
        reduce: Function::of(c, "reduce_func", 3)?,
        finalize: Function::of(c, "finalize_func", 4)?,
    };
    emit(c, &[&input], GroupByReducer { input: input.clone(), functions: Arc::new(functions) })
}

/// The one integer that a function gives.
async fn integer(f: &Function, c: &Context, args: Tuple, what: &str) -> Result<i64> {
    match &f.call(c, args).await?[..] {
        [one] if one.dtype() == DataType::Int64 && one.elements() == 1 => one.to_scalar(),
        _ => Err(invalid!("`{what}` must return a scalar int64.")),
    }
}

struct Reducer {
    key: Function,
    init: Function,
    reduce: Function,
    finalize: Function,
}

struct GroupByReducer {
    input: DatasetRef,
    functions: Arc<Reducer>,
}

impl Dataset for GroupByReducer {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let (input, functions) = (Some(self.input.iterator(c)?), self.functions.clone());
        Ok(Box::new(ReducerIter { input, functions, states: BTreeMap::new() }))
    }
}

struct ReducerIter {
    /// `None` once the states are complete.
    input: Option<Box<dyn Iter>>,
    functions: Arc<Reducer>,
    /// By key; those that were given are gone.
    states: BTreeMap<i64, Tuple>,
}

impl Iter for ReducerIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            while let Some(input) = &mut self.input {
                c.check()?;
                let Some(element) = input.next(c).await? else {
                    self.input = None;
                    break;
                };
                let f = &self.functions;
                let key = integer(&f.key, c, element.clone(), "key_func").await?;
                let mut state = match self.states.get(&key) {
                    Some(state) => state.clone(),
                    None if self.states.len() >= MAX_KEYS => return Err(too_many_keys()),
                    None => f.init.call(c, vec![Tensor::scalar(key)]).await?,
                };
                state.extend(element);
                let state = f.reduce.call(c, state).await?;
                self.states.insert(key, state);
            }
            match self.states.pop_first() {
                Some((_, state)) => self.functions.finalize.call(c, state).await.map(Some),
                None => Ok(None),
            }
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            let mut keys = reserve::collect(self.states.keys().copied())?;
            s.numbers("keys", &mut keys, MAX_KEYS)?;
            for (i, key) in keys.iter().enumerate() {
                s.tuple(&format!("state{i}"), self.states.entry(*key).or_default())?;
            }
            s.input_until_end("input", &mut self.input, c).await
        })
    }
}

fn too_many_keys() -> Error {
    resource_exhausted(format_args!("more than {MAX_KEYS} keys of a dataset"))
}

fn windows(c: &mut OpCall<'_>) -> Result<()> {
    let input = input(c, 0)?;
    let functions = Windowing {
        key: Function::of(c, "key_func", 1)?,
        reduce: Function::of(c, "reduce_func", 2)?,
        size: Function::of(c, "window_size_func", 3)?,
    };
    emit(c, &[&input], GroupByWindow { input: input.clone(), functions: Arc::new(functions) })
}

struct Windowing {
    key: Function,
    reduce: Function,
    size: Function,
}

struct GroupByWindow {
    input: DatasetRef,
    functions: Arc<Windowing>,
}

impl Dataset for GroupByWindow {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(WindowsIter {
            input: Some(self.input.iterator(c)?),
            of: self.input.clone(),
            functions: self.functions.clone(),
            groups: BTreeMap::new(),
            now: None,
            inner: c.without_cancellation(),
        }))
    }
}

struct WindowsIter {
    input: Option<Box<dyn Iter>>,
    /// The dataset whose elements the windows have.
    of: DatasetRef,
    functions: Arc<Windowing>,
    groups: BTreeMap<i64, Group>,
    /// The dataset of the last full window.
    now: Option<Opened>,
    inner: Context,
}

#[derive(Default)]
struct Group {
    size: i64,
    elements: ElementBuffer,
}

impl Iter for WindowsIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move {
            loop {
                c.check()?;
                if let Some(now) = &mut self.now {
                    match now.iter.next(c).await? {
                        Some(element) => return Ok(Some(element)),
                        None => self.now = None,
                    }
                }
                let full = match &mut self.input {
                    Some(input) => match input.next(c).await? {
                        Some(element) => self.add(element, c).await?,
                        None => {
                            self.input = None;
                            None
                        }
                    },
                    // What is left, in order of the keys.
                    None => match self.groups.iter().find(|(_, g)| g.elements.len() > 0) {
                        Some((key, _)) => Some(*key),
                        None => return Ok(None),
                    },
                };
                if let Some(key) = full {
                    self.flush(key, c).await?;
                }
            }
        })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            let mut keys = reserve::collect(self.groups.keys().copied())?;
            s.numbers("keys", &mut keys, MAX_KEYS)?;
            for (i, key) in keys.iter().enumerate() {
                let group = self.groups.entry(*key).or_default();
                s.number(&format!("size{i}"), &mut group.size)?;
                s.elements(&format!("group{i}"), &mut group.elements)?;
            }
            s.input_until_end("input", &mut self.input, c).await?;
            let functions = self.functions.clone();
            Opened::checkpoint(&mut self.now, "now", s, (&functions.reduce, &self.inner), c).await
        })
    }
}

impl WindowsIter {
    /// Adds an element to its group; returns its key if that is full.
    async fn add(&mut self, element: Tuple, c: &Context) -> Result<Option<i64>> {
        let f = self.functions.clone();
        let key = integer(&f.key, c, element.clone(), "key_func").await?;
        if !self.groups.contains_key(&key) {
            if self.groups.len() >= MAX_KEYS {
                return Err(too_many_keys());
            }
            let size = integer(&f.size, c, vec![Tensor::scalar(key)], "window_size_func").await?;
            if size <= 0 {
                return Err(invalid!("Window size must be greater than zero, but got {size}."));
            }
            self.groups.insert(key, Group { size, elements: ElementBuffer::default() });
        }
        let group = self.groups.entry(key).or_default();
        group.elements.push(element)?;
        Ok((group.elements.len() as i64 >= group.size).then_some(key))
    }

    /// Opens the dataset of a group, which is empty then.
    async fn flush(&mut self, key: i64, c: &Context) -> Result<()> {
        let elements = self.groups.get_mut(&key).map(|g| std::mem::take(&mut g.elements)).unwrap_or_default();
        let window = list(self.of.types.clone(), self.of.shapes.clone(), elements.into_items())?;
        let args = vec![Tensor::scalar(key), tensor_of(window)];
        self.now = Some(Opened::of(&self.functions.reduce, args, c, &self.inner).await?);
        Ok(())
    }
}
