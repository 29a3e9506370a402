//! What a queue holds and in which order it gives it out: the one thing in which the four kinds of queue differ.

use crate::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use thalweg_math::random::{Philox, Words};

/// One element: a tensor for each component.
pub type Tuple = Vec<Tensor>;

/// An element taken out, with its place, so that it can be put back.
pub struct Taken {
    pub tuple: Tuple,
    place: (i64, u64),
}

pub enum Items {
    /// First in, first out.
    Fifo(VecDeque<Tuple>),
    /// Any one, as the random words say.
    Shuffled { held: Vec<Tuple>, words: Words },
    /// The least priority first (the scalar in component 0); of equals, the first in.
    ByPriority { held: BTreeMap<(i64, u64), Tuple>, next: u64 },
}

impl Items {
    pub fn shuffled(stream: Philox) -> Items {
        Items::Shuffled { held: Vec::new(), words: Words::new(stream) }
    }

    pub fn len(&self) -> usize {
        match self {
            Items::Fifo(held) => held.len(),
            Items::Shuffled { held, .. } => held.len(),
            Items::ByPriority { held, .. } => held.len(),
        }
    }

    /// Whether what comes later may have to go first, so that several are to be taken together.
    pub fn first_of_all(&self) -> bool {
        matches!(self, Items::ByPriority { .. })
    }

    pub fn put(&mut self, tuple: Tuple) {
        match self {
            Items::Fifo(held) => held.push_back(tuple),
            Items::Shuffled { held, .. } => held.push(tuple),
            Items::ByPriority { held, next } => {
                let priority = tuple.first().and_then(|t| t.to_scalar::<i64>().ok()).unwrap_or(0);
                held.insert((priority, *next), tuple);
                *next += 1;
            }
        }
    }

    pub fn take(&mut self) -> Option<Taken> {
        match self {
            Items::Fifo(held) => held.pop_front().map(|tuple| Taken { tuple, place: (0, 0) }),
            Items::Shuffled { held, .. } if held.is_empty() => None,
            Items::Shuffled { held, words } => {
                let at = words.next_word() as usize % held.len();
                Some(Taken { tuple: held.swap_remove(at), place: (0, 0) })
            }
            Items::ByPriority { held, .. } => held.pop_first().map(|(place, tuple)| Taken { tuple, place }),
        }
    }

    /// Puts elements back that were taken in this order, as if they had not been.
    pub fn put_back(&mut self, taken: Vec<Taken>) {
        for t in taken.into_iter().rev() {
            match self {
                Items::Fifo(held) => held.push_front(t.tuple),
                Items::Shuffled { held, .. } => held.push(t.tuple),
                Items::ByPriority { held, .. } => {
                    held.insert(t.place, t.tuple);
                }
            }
        }
    }

    pub fn clear(&mut self) {
        match self {
            Items::Fifo(held) => held.clear(),
            Items::Shuffled { held, .. } => held.clear(),
            Items::ByPriority { held, .. } => held.clear(),
        }
    }
}
