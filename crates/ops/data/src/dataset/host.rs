//! Datasets whose elements a Rust closure produces. They are values, not nodes: a graph holds one as a constant, and so can only run
//! in the process that made it.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::Context;
use super::sequence::{Dataset, Element, Iter, Next, TypedDataset, ready, tensor_of};
use crate::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A scalar of type variant that holds a dataset. Each iterator calls `begin`, then the closure it returns once for each
/// element, until that returns `None`.
pub fn host_dataset<B, N>(types: Vec<DataType>, shapes: Vec<PartialShape>, begin: B) -> Result<Tensor>
where
    B: Fn() -> N + Send + Sync + 'static,
    N: FnMut() -> Element + Send + 'static,
{
    let declared = types.iter().copied().zip(shapes.iter().cloned()).collect();
    Ok(tensor_of(TypedDataset::new(types, shapes, &[], Host { begin, declared })?))
}

struct Host<B> {
    begin: B,
    declared: Arc<[(DataType, PartialShape)]>,
}

impl<B, N> Dataset for Host<B>
where
    B: Fn() -> N + Send + Sync,
    N: FnMut() -> Element + Send + 'static,
{
    fn iterator(&self, _: &Context) -> Result<Box<dyn Iter>> {
        Ok(Box::new(HostIter { next: (self.begin)(), declared: self.declared.clone() }))
    }
}

struct HostIter<N> {
    next: N,
    declared: Arc<[(DataType, PartialShape)]>,
}

impl<N: FnMut() -> Element + Send> Iter for HostIter<N> {
    fn next<'a>(&'a mut self, _: &'a Context) -> Next<'a> {
        let given = catch_unwind(AssertUnwindSafe(&mut self.next))
            .unwrap_or_else(|_| Err(internal("the closure that gives a dataset's elements panicked")));
        ready(given.and_then(|element| match element {
            Some(tuple) => self.check(&tuple).map(|()| Some(tuple)),
            None => Ok(None),
        }))
    }

    fn checkpoint<'a>(&'a mut self, _: &'a mut Checkpoint, _: &'a Context) -> Work<'a> {
        done(Err(unimplemented("the position in a dataset of a Rust closure cannot be saved")))
    }
}

impl<N> HostIter<N> {
    fn check(&self, tuple: &[Tensor]) -> Result<()> {
        if tuple.len() != self.declared.len() {
            return Err(invalid!(
                "a closure gave an element of {} components, {} were declared",
                tuple.len(),
                self.declared.len()
            ));
        }
        for (i, (t, (dtype, shape))) in tuple.iter().zip(&*self.declared).enumerate() {
            if t.dtype() != *dtype || !shape.allows(t.shape()) {
                return Err(invalid!(
                    "component {i} of an element from a closure is {} of shape {}, declared were {dtype} and {shape}",
                    t.dtype(),
                    t.shape()
                ));
            }
        }
        Ok(())
    }
}
