//! `Barrier`: tuples put together by key from components that arrive in any order. A tuple is ready when all of its components are there.

use crate::prelude::*;
use crate::waiting::Waiting;
use bytes::Bytes;
use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use thalweg_core::resource::Resource;

pub struct Barrier {
    pub name: String,
    pub types: Vec<DataType>,
    /// Shapes of the components.
    pub shapes: Vec<Shape>,
    pub waiting: Arc<Waiting<State>>,
}

pub struct State {
    incomplete: HashMap<Bytes, Incomplete>,
    /// By the insertion that began the tuple, then in the order of completion.
    ready: BTreeMap<(i64, u64), (Bytes, Vec<Tensor>)>,
    completed: u64,
    /// The number of the next insertion.
    insertion: i64,
    closed: bool,
    cancelled: bool,
}

struct Incomplete {
    insertion: i64,
    parts: Vec<Option<Tensor>>,
}

/// One ready tuple.
pub struct Ready {
    pub insertion: i64,
    pub key: Bytes,
    pub tuple: Vec<Tensor>,
}

impl Default for State {
    fn default() -> State {
        State {
            incomplete: HashMap::new(),
            ready: BTreeMap::new(),
            completed: 0,
            insertion: i64::MIN,
            closed: false,
            cancelled: false,
        }
    }
}

impl Barrier {
    pub fn check_types(&self, types: &[DataType]) -> Result<()> {
        if types == self.types {
            return Ok(());
        }
        Err(invalid!("Signature mismatch, have: {types:?} expected: {:?}", self.types))
    }

    /// Adds component number `at` for each key.
    pub fn insert(&self, at: usize, keys: &[Bytes], values: Vec<Tensor>) -> Result<()> {
        self.waiting.change(|s| {
            if s.cancelled || (s.closed && s.incomplete.is_empty()) {
                return Err(cancelled(format_args!(
                    "Barrier {} is closed.  Pending enqueues cancelled: {}.  Number of new insertions: {}.  \
                     Number of incomplete keys: {}.",
                    self.name,
                    i32::from(s.cancelled),
                    keys.len(),
                    s.incomplete.len()
                )));
            }
            // An insertion counts if it begins tuples.
            let begins = keys.iter().any(|key| !s.incomplete.contains_key(key));
            let inserted =
                keys.iter().zip(values).try_for_each(|(key, value)| self.insert_one(s, at, key, value));
            s.insertion += i64::from(begins);
            inserted
        })
    }

    fn insert_one(&self, s: &mut State, at: usize, key: &Bytes, value: Tensor) -> Result<()> {
        if s.closed && !s.incomplete.contains_key(key) {
            return Err(cancelled(format_args!(
                "Barrier {} is closed, but attempted to insert a brand new key: {}.  Pending enqueues cancelled: 0.",
                self.name,
                String::from_utf8_lossy(key)
            )));
        }
        reserve::room(&mut s.incomplete, 1)?;
        let parts = reserve::filled(self.types.len(), None)?;
        let insertion = s.insertion;
        let held = s.incomplete.entry(key.clone()).or_insert(Incomplete { insertion, parts });
        let part = held.parts.get_mut(at).ok_or_else(|| internal("a component that is not there"))?;
        if part.is_some() {
            return Err(invalid!(
                "Key {} already has a value for component {at} in barrier {}",
                String::from_utf8_lossy(key),
                self.name
            ));
        }
        *part = Some(value);
        if held.parts.iter().all(Option::is_some)
            && let Some(whole) = s.incomplete.remove(key)
        {
            let tuple = whole.parts.into_iter().flatten().collect();
            s.ready.insert((whole.insertion, s.completed), (key.clone(), tuple));
            s.completed += 1;
        }
        Ok(())
    }

    /// No new keys from now on. With `cancel`, incomplete tuples are dropped.
    pub fn close(&self, cancel: bool) -> Result<()> {
        self.waiting.change(|s| {
            if s.closed && (s.cancelled || !cancel) {
                return Err(cancelled(format_args!("Barrier '{}' is already closed.", self.name)));
            }
            s.closed = true;
            if cancel {
                s.cancelled = true;
                s.incomplete = HashMap::new();
            }
            Ok(())
        })
    }
}

impl State {
    pub fn ready_len(&self) -> usize {
        self.ready.len()
    }

    pub fn incomplete_len(&self) -> usize {
        self.incomplete.len()
    }

    /// Takes `n` ready tuples; with `fewer`, those that a closed barrier has. `None`: there may be more to come.
    pub fn take(&mut self, name: &str, n: usize, fewer: bool) -> Option<Result<Vec<Ready>>> {
        let mut wanted = n;
        if self.closed {
            let mut available = self.ready.len();
            match fewer {
                true => wanted = wanted.min(available),
                false => available = available.saturating_add(self.incomplete.len()),
            }
            if available < wanted.max(1) {
                return Some(Err(out_of_range(format_args!(
                    "Barrier '{name}' is closed and has insufficient elements (requested {wanted}, total size {available})"
                ))));
            }
        }
        if self.ready.len() < wanted {
            return None;
        }
        let mut taken = match reserve::with_capacity(wanted) {
            Ok(taken) => taken,
            Err(e) => return Some(Err(e)),
        };
        while taken.len() < wanted {
            let Some(((insertion, _), (key, tuple))) = self.ready.pop_first() else { break };
            taken.push(Ready { insertion, key, tuple });
        }
        Some(Ok(taken))
    }
}

impl Resource for Barrier {
    fn kind(&self) -> &'static str {
        "Barrier"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn discard(&self) {
        self.waiting.fail_all("a barrier");
    }
}
