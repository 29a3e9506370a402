//! `StagingArea`: tuples in order of arrival, with limits of number and bytes.

use crate::named::{CachedResource, ResourceKey};
use crate::prelude::*;
use crate::waiting::Waiting;
use std::any::Any;
use std::collections::VecDeque;
use thalweg_core::resource::Resource;
use thalweg_core::step::StepContext;

/// The limits of a staging area or map; zero for none.
#[derive(Clone, Copy)]
pub struct Limits {
    capacity: usize,
    bytes: usize,
}

impl Limits {
    pub fn of(node: &KernelNode) -> Result<Limits> {
        let size = |attr| -> Result<usize> {
            let n = node.attrs.int(attr)?;
            usize::try_from(n).map_err(|_| invalid!("{attr} must be >= 0, got {n}"))
        };
        Ok(Limits { capacity: size("capacity")?, bytes: size("memory_limit")? })
    }

    /// An error if a tuple of this size can never be held.
    pub fn check(&self, bytes: usize) -> Result<()> {
        if self.bytes > 0 && bytes > self.bytes {
            return Err(resource_exhausted(format_args!(
                "Attempted to insert tensors with combined size of '{bytes}' bytes into Staging Area with a memory \
                 limit of '{}'.",
                self.bytes
            )));
        }
        Ok(())
    }

    /// Whether there is room for `more` bytes beside so many tuples and bytes.
    pub fn allow(&self, tuples: usize, bytes: usize, more: usize) -> bool {
        (self.capacity == 0 || tuples < self.capacity)
            && (self.bytes == 0 || bytes.saturating_add(more) <= self.bytes)
    }
}

pub fn bytes_of<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> usize {
    tensors.into_iter().map(Tensor::byte_len).fold(0, usize::saturating_add)
}

/// A resource that requests wait for, by the name of its node.
pub struct Staged<S> {
    pub limits: Limits,
    pub waiting: Arc<Waiting<S>>,
}

impl<S: Send + 'static> Resource for Staged<S> {
    fn kind(&self) -> &'static str {
        "StagingArea"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn discard(&self) {
        self.waiting.fail_all("a staging area");
    }
}

/// Finds the area of a node, which the first one to use it creates.
pub struct Named<S> {
    cached: CachedResource<Staged<S>>,
    limits: Limits,
}

impl<S: Default + Send + 'static> Named<S> {
    pub fn new(node: &KernelNode) -> Result<Self> {
        Ok(Named { cached: CachedResource::new(ResourceKey::of(node)?), limits: Limits::of(node)? })
    }

    pub fn get(&self, step: &StepContext) -> Result<Arc<Staged<S>>> {
        self.cached.get(&step.device.resources, |_| {
            Ok(Staged { limits: self.limits, waiting: Arc::new(Waiting::new(S::default())) })
        })
    }
}

#[derive(Default)]
pub struct Area {
    pub held: VecDeque<Vec<Tensor>>,
    bytes: usize,
}

impl Area {
    /// Adds a tuple if there is room; takes it out of `tuple` then.
    pub fn put(&mut self, tuple: &mut Option<Vec<Tensor>>, limits: Limits) -> Option<Result<()>> {
        let more = bytes_of(tuple.iter().flatten());
        if !limits.allow(self.held.len(), self.bytes, more) {
            return None;
        }
        Some(reserve::room(&mut self.held, 1).map(|()| {
            self.bytes = self.bytes.saturating_add(more);
            self.held.extend(tuple.take());
        }))
    }

    pub fn take(&mut self) -> Option<Vec<Tensor>> {
        let tuple = self.held.pop_front()?;
        self.bytes = self.bytes.saturating_sub(bytes_of(&tuple));
        Some(tuple)
    }

    pub fn clear(&mut self) {
        *self = Area::default();
    }
}
