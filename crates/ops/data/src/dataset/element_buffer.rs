//! `ElementBuffer`: a queue of elements, with the byte limit of a tensor.

use super::sequence::Tuple;
use crate::prelude::*;
use std::collections::VecDeque;
use thalweg_core::buffer;

/// Elements with their size in bytes.
#[derive(Default)]
pub struct ElementBuffer {
    items: VecDeque<Tuple>,
    bytes: usize,
}

/// Bytes of an element: its values, and an overhead for each.
fn size_of(tuple: &Tuple) -> usize {
    tuple.iter().map(|t| t.byte_len().saturating_add(64)).fold(32, usize::saturating_add)
}

impl ElementBuffer {
    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn push(&mut self, tuple: Tuple) -> Result<()> {
        let bytes = self.bytes.saturating_add(size_of(&tuple));
        if bytes > buffer::limit() {
            return Err(resource_exhausted(format_args!(
                "{} elements of a dataset, kept at once, are over the limit of {} bytes",
                self.items.len() + 1,
                buffer::limit()
            )));
        }
        reserve::room(&mut self.items, 1)?;
        self.bytes = bytes;
        self.items.push_back(tuple);
        Ok(())
    }

    pub fn pop(&mut self) -> Option<Tuple> {
        let tuple = self.items.pop_front()?;
        self.bytes = self.bytes.saturating_sub(size_of(&tuple));
        Some(tuple)
    }

    pub fn get(&self, i: usize) -> Option<&Tuple> {
        self.items.get(i)
    }

    pub fn swap(&mut self, i: usize, j: usize) {
        if i < self.items.len() && j < self.items.len() {
            self.items.swap(i, j);
        }
    }

    pub fn into_items(self) -> Vec<Tuple> {
        self.items.into()
    }
}
