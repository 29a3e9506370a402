//! The elements of a queue and their dequeue order: all that the four kinds of queue differ in.

use crate::prelude::*;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use thalweg_math::random::{Philox, Words};

/// One element: a tensor for each component.
pub type Tuple = Vec<Tensor>;

/// A dequeued element with its position, so that it can be put back.
pub struct Taken {
    pub tuple: Tuple,
    place: (i64, u64),
}

impl PartialEq for Taken {
    fn eq(&self, other: &Taken) -> bool {
        self.place == other.place
    }
}

impl Eq for Taken {}

impl PartialOrd for Taken {
    fn partial_cmp(&self, other: &Taken) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// By position.
impl Ord for Taken {
    fn cmp(&self, other: &Taken) -> std::cmp::Ordering {
        self.place.cmp(&other.place)
    }
}

pub enum Items {
    /// First in, first out.
    Fifo(VecDeque<Tuple>),
    /// At random.
    Shuffled { held: Vec<Tuple>, words: Words },
    /// The lowest priority first (the scalar in component 0); FIFO on ties.
    ByPriority { held: BinaryHeap<Reverse<Taken>>, next: u64 },
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

    /// Whether later elements may precede earlier ones, so that several must be taken at once.
    pub fn first_of_all(&self) -> bool {
        matches!(self, Items::ByPriority { .. })
    }

    /// Adds an element, with room for `reserved` taken elements that may be put back.
    pub fn put(&mut self, tuple: Tuple, reserved: usize) -> Result<()> {
        let more = reserved.saturating_add(1);
        match self {
            Items::Fifo(held) => {
                reserve::room(held, more)?;
                held.push_back(tuple);
            }
            Items::Shuffled { held, .. } => {
                reserve::room(held, more)?;
                held.push(tuple);
            }
            Items::ByPriority { held, next } => {
                held.try_reserve(more)
                    .map_err(|_| reserve::no_memory(more.saturating_mul(size_of::<Taken>())))?;
                let priority = tuple.first().and_then(|t| t.to_scalar::<i64>().ok()).unwrap_or(0);
                held.push(Reverse(Taken { tuple, place: (priority, *next) }));
                *next += 1;
            }
        }
        Ok(())
    }

    pub fn take(&mut self) -> Option<Taken> {
        match self {
            Items::Fifo(held) => held.pop_front().map(|tuple| Taken { tuple, place: (0, 0) }),
            Items::Shuffled { held, .. } if held.is_empty() => None,
            Items::Shuffled { held, words } => {
                let at = words.next_word() as usize % held.len();
                Some(Taken { tuple: held.swap_remove(at), place: (0, 0) })
            }
            Items::ByPriority { held, .. } => held.pop().map(|Reverse(taken)| taken),
        }
    }

    /// Puts back elements that were taken in this order.
    pub fn put_back(&mut self, taken: Vec<Taken>) {
        for t in taken.into_iter().rev() {
            match self {
                Items::Fifo(held) => held.push_front(t.tuple),
                Items::Shuffled { held, .. } => held.push(t.tuple),
                Items::ByPriority { held, .. } => held.push(Reverse(t)),
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
