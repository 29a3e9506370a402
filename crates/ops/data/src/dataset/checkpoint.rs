//! `Checkpoint`: the position of an iterator, as tensors by name.
//!
//! One function of each iterator, [`Iter::checkpoint`], both saves and restores: every field is handed to the checkpoint, which writes
//! it or sets it. Names are paths in the tree of iterators, `input/input/left`. A checkpoint that is read is input: a number may
//! be any number, a count is believed only as far as there are elements, and names may be missing.
//!
//! ```text
//! fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
//!     work(async move {
//!         s.number("left", &mut self.left)?;
//!         s.input("input", &mut self.input, c).await
//!     })
//! }
//! ```

use super::context::Context;
use super::element_buffer::ElementBuffer;
use super::sequence::{Element, Iter, Tuple};
use crate::prelude::*;
use bytes::Bytes;
use std::future::{self, Future};
use std::pin::Pin;
use thalweg_core::tensor::EncodedVariant;

/// Saving or restoring, which may wait for an element under way or for a function.
pub type Work<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

pub fn work<'a>(f: impl Future<Output = Result<()>> + Send + 'a) -> Work<'a> {
    Box::pin(f)
}

/// Work that is done.
pub fn done<'a>(result: Result<()>) -> Work<'a> {
    Box::pin(future::ready(result))
}

/// TensorFlow's name for the type. The encoding is ours.
const TYPE_NAME: &str = "tensorflow::IteratorStateVariant";

/// The first line of the names.
const FORMAT: &str = "thalweg 1";

pub struct Checkpoint {
    restoring: bool,
    /// Saving: in the order written. Restoring: sorted by name.
    entries: Vec<(String, Tensor)>,
    /// The path of the iterator under way, and a slash.
    path: String,
}

impl Checkpoint {
    pub fn to_save() -> Checkpoint {
        Checkpoint { restoring: false, entries: Vec::new(), path: String::new() }
    }

    /// The checkpoint in the elements of a tensor that `SerializeIterator` made, here or elsewhere.
    pub fn to_restore(t: &Tensor) -> Result<Checkpoint> {
        let [v] = t.variants()? else {
            return Err(invalid!("the state of an iterator is one variant, got shape {}", t.shape()));
        };
        let state = v.get::<EncodedVariant>().filter(|state| state.type_name == TYPE_NAME);
        let Some(state) = state else { return Err(invalid!("not the state of an iterator: {v:?}")) };
        let text = std::str::from_utf8(&state.metadata).unwrap_or_default();
        let mut names = text.split('\n');
        if names.next() != Some(FORMAT) {
            return Err(invalid!("the state of an iterator, but not in the format '{FORMAT}'"));
        }
        let mut entries = reserve::with_capacity(state.tensors.len())?;
        for (i, t) in state.tensors.iter().enumerate() {
            let name =
                names.next().ok_or_else(|| invalid!("tensor {i} of an iterator's state has no name"))?;
            entries.push((reserve::text(format_args!("{name}"))?, t.clone()));
        }
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Ok(Checkpoint { restoring: true, entries, path: String::new() })
    }

    /// What was saved, as a variant.
    pub fn into_variant(self) -> Result<Variant> {
        let names = std::iter::once(FORMAT).chain(self.entries.iter().map(|(name, _)| name.as_str()));
        let metadata = Bytes::from(reserve::join(names.map(str::as_bytes), b"\n")?);
        let tensors = reserve::collect(self.entries.into_iter().map(|(_, t)| t))?;
        Ok(Variant::new(EncodedVariant { type_name: TYPE_NAME.into(), metadata, tensors }))
    }

    pub fn restoring(&self) -> bool {
        self.restoring
    }

    /// One tensor.
    pub fn tensor(&mut self, key: &str, value: &mut Tensor) -> Result<()> {
        let name = reserve::text(format_args!("{}{key}", self.path))?;
        if !self.restoring {
            return reserve::push(&mut self.entries, (name, value.clone()));
        }
        match self.entries.binary_search_by(|(held, _)| held.as_str().cmp(&name)) {
            Ok(i) => *value = self.entries[i].1.clone(),
            Err(_) => {
                return Err(invalid!(
                    "the state of an iterator has no '{name}': it was saved from another kind of dataset, or is damaged"
                ));
            }
        }
        Ok(())
    }

    /// An integer.
    pub fn number<N: Copy + TryInto<i64> + TryFrom<i64>>(&mut self, key: &str, n: &mut N) -> Result<()> {
        let mut t = Tensor::scalar((*n).try_into().unwrap_or(i64::MAX));
        self.tensor(key, &mut t)?;
        if self.restoring {
            let read = t.to_scalar::<i64>()?;
            *n = N::try_from(read).map_err(|_| invalid!("'{key}' of an iterator's state is {read}"))?;
        }
        Ok(())
    }

    pub fn flag(&mut self, key: &str, flag: &mut bool) -> Result<()> {
        let mut n = i64::from(*flag);
        self.number(key, &mut n)?;
        *flag = n != 0;
        Ok(())
    }

    /// A list of numbers, at most `most`.
    pub fn numbers(&mut self, key: &str, list: &mut Vec<i64>, most: usize) -> Result<()> {
        let mut t = Tensor::vector(list)?;
        self.tensor(key, &mut t)?;
        if self.restoring {
            let read = t.as_slice::<i64>()?;
            if read.len() > most {
                return Err(invalid!("'{key}' of an iterator's state has {} numbers", read.len()));
            }
            *list = reserve::copied(read)?;
        }
        Ok(())
    }

    /// The components of one element, or of the state of a function.
    pub fn tuple(&mut self, key: &str, tuple: &mut Tuple) -> Result<()> {
        let outside = self.enter(key)?;
        let mut n = tuple.len();
        self.number("n", &mut n)?;
        if self.restoring {
            tuple.clear();
        }
        for i in 0..n {
            let mut part = tuple.get(i).cloned().unwrap_or_else(|| Tensor::scalar(0i64));
            self.tensor(&reserve::text(format_args!("{i}"))?, &mut part)?;
            if self.restoring {
                reserve::push(tuple, part)?;
            }
        }
        self.leave(outside);
        Ok(())
    }

    /// An element or none.
    pub fn element(&mut self, key: &str, element: &mut Option<Tuple>) -> Result<()> {
        let outside = self.enter(key)?;
        let mut there = element.is_some();
        self.flag("there", &mut there)?;
        if there {
            self.tuple("element", element.get_or_insert_default())?;
        } else {
            *element = None;
        }
        self.leave(outside);
        Ok(())
    }

    pub fn elements(&mut self, key: &str, buffer: &mut ElementBuffer) -> Result<()> {
        let outside = self.enter(key)?;
        let mut n = buffer.len();
        self.number("n", &mut n)?;
        if self.restoring {
            *buffer = ElementBuffer::default();
        }
        for i in 0..n {
            let mut tuple = buffer.get(i).cloned().unwrap_or_default();
            self.tuple(&reserve::text(format_args!("{i}"))?, &mut tuple)?;
            if self.restoring {
                buffer.push(tuple)?;
            }
        }
        self.leave(outside);
        Ok(())
    }

    /// What a call of `next` gave: an element, the end, or an error.
    pub fn outcome(&mut self, key: &str, outcome: &mut Element) -> Result<()> {
        let outside = self.enter(key)?;
        let (mut code, mut message) = match &*outcome {
            Ok(_) => (0, Tensor::string("")),
            Err(e) => (e.code() as i32, Tensor::string(reserve::text(format_args!("{}", e.message()))?)),
        };
        self.number("code", &mut code)?;
        self.tensor("message", &mut message)?;
        match outcome {
            Ok(element) if code == 0 => self.element("value", element)?,
            _ if !self.restoring => {}
            _ if code == 0 => {
                let mut element = None;
                self.element("value", &mut element)?;
                *outcome = Ok(element);
            }
            _ => {
                let text = message.strings()?.first().cloned().unwrap_or_default();
                let text = reserve::text(format_args!("{}", String::from_utf8_lossy(&text)))?;
                *outcome = Err(Error::new(Code::from_wire(code), text));
            }
        }
        self.leave(outside);
        Ok(())
    }

    /// The position of an input.
    pub async fn input(&mut self, key: &str, input: &mut Box<dyn Iter>, c: &Context) -> Result<()> {
        c.check()?;
        let outside = self.enter(key)?;
        input.checkpoint(self, c).await?;
        self.leave(outside);
        Ok(())
    }

    /// The position of an input that a new iterator has, and that is dropped when it ends.
    pub async fn input_until_end(
        &mut self,
        key: &str,
        input: &mut Option<Box<dyn Iter>>,
        c: &Context,
    ) -> Result<()> {
        let lost = || Err(invalid!("the state of an iterator has an input that ended before"));
        self.input_or_none(key, input, lost, c).await
    }

    /// The position of an input that may not be open; restoring opens it with `open`.
    pub async fn input_or_none(
        &mut self,
        key: &str,
        input: &mut Option<Box<dyn Iter>>,
        open: impl FnOnce() -> Result<Box<dyn Iter>>,
        c: &Context,
    ) -> Result<()> {
        let outside = self.enter(key)?;
        let mut there = input.is_some();
        self.flag("open", &mut there)?;
        if there {
            let input = match input {
                Some(input) => input,
                none => none.insert(open()?),
            };
            c.check()?;
            input.checkpoint(self, c).await?;
        } else {
            *input = None;
        }
        self.leave(outside);
        Ok(())
    }

    /// Puts what follows under `key`, until `leave`.
    pub fn enter(&mut self, key: &str) -> Result<usize> {
        let outside = self.path.len();
        reserve::room(&mut self.path, key.len() + 1)?;
        self.path.push_str(key);
        self.path.push('/');
        Ok(outside)
    }

    pub fn leave(&mut self, outside: usize) {
        self.path.truncate(outside);
    }
}
