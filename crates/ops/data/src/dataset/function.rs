//! `Function`: what map, filter and similar datasets apply to elements.

use super::checkpoint::{Checkpoint, Work, work};
use super::context::{Call, Context};
use super::sequence::{DatasetRef, Iter, Next, Tuple, dataset_of, later};
use crate::prelude::*;
use thalweg_core::step::FunctionRunner;

/// A function of the library with its captured inputs, which are its last arguments.
#[derive(Clone)]
pub struct Function {
    func: Func,
    captured: Arc<Vec<Tensor>>,
    /// The library that the function is of; else that of the iterator.
    library: Option<Arc<dyn FunctionRunner>>,
}

impl Function {
    /// The function in attr `name`, with the inputs of argument `other` as captures.
    pub fn of(c: &OpCall<'_>, name: &str, other: usize) -> Result<Function> {
        let captured = c.arg(other).map(|i| c.input(i).cloned()).collect::<Result<_>>()?;
        Ok(Function::in_library(c, c.attrs().func(name)?, captured))
    }

    /// A function of the library of a node.
    pub fn in_library(c: &OpCall<'_>, func: &Func, captured: Vec<Tensor>) -> Function {
        let library = c.step.functions.clone();
        Function { func: func.clone(), captured: Arc::new(captured), library }
    }

    pub fn new(func: Func, captured: Vec<Tensor>) -> Function {
        Function { func, captured: Arc::new(captured), library: None }
    }

    /// Starts a call on the calling thread, if possible.
    pub fn call(&self, c: &Context, args: Tuple) -> Call {
        c.call(self.library.as_ref(), &self.func, self.with_captured(args), false)
    }

    /// Starts a call on another thread.
    pub fn call_elsewhere(&self, c: &Context, args: Tuple) -> Call {
        c.call(self.library.as_ref(), &self.func, self.with_captured(args), true)
    }

    fn with_captured(&self, mut args: Tuple) -> Tuple {
        args.extend(self.captured.iter().cloned());
        args
    }

    /// The result of a predicate: one boolean.
    pub fn truth(results: &[Tensor]) -> Result<bool> {
        match results {
            [one] if one.dtype() == DataType::Bool && one.elements() == 1 => one.to_scalar(),
            _ => Err(invalid!("Filter predicate `f` must return a scalar bool.")),
        }
    }

    /// The result of a call that returns a dataset.
    pub fn dataset(results: &[Tensor]) -> Result<DatasetRef> {
        match results {
            [one] if one.dtype() == DataType::Variant && one.rank() == 0 => dataset_of(one),
            _ => Err(invalid!("Function must return a single scalar of dtype DT_VARIANT.")),
        }
    }
}

/// An iterator over the dataset that a function made of an element. The element is kept: to restore a position, the function is called
/// with it again.
pub struct Opened {
    element: Tuple,
    pub iter: Box<dyn Iter>,
}

impl Opened {
    /// `inner`: the context of the new iterator.
    pub async fn of(f: &Function, element: Tuple, c: &Context, inner: &Context) -> Result<Opened> {
        let results = f.call(c, element.clone()).await?;
        Ok(Opened { element, iter: Function::dataset(&results)?.iterator(inner)? })
    }

    /// Saves or restores one that may not be open.
    pub async fn checkpoint(
        slot: &mut Option<Opened>,
        key: &str,
        s: &mut Checkpoint,
        (f, inner): (&Function, &Context),
        c: &Context,
    ) -> Result<()> {
        let outside = s.enter(key)?;
        let mut element = slot.as_ref().map(|open| open.element.clone());
        s.element("of", &mut element)?;
        if s.restoring() {
            *slot = match element {
                Some(element) => Some(Opened::of(f, element, c, inner).await?),
                None => None,
            };
        }
        if let Some(open) = slot {
            s.input("input", &mut open.iter, c).await?;
        }
        s.leave(outside);
        Ok(())
    }
}

/// The elements of the dataset that a function makes of another one. The function is called for the first element.
pub struct Transformed {
    open: Option<Box<dyn Iter>>,
    f: Function,
    source: Tensor,
    /// The context of the iterator, at this depth.
    inner: Context,
}

impl Transformed {
    pub fn new(f: &Function, source: Tensor, c: &Context) -> Transformed {
        Transformed { open: None, f: f.clone(), source, inner: c.without_cancellation() }
    }

    async fn open(&mut self, c: &Context) -> Result<&mut Box<dyn Iter>> {
        Ok(match &mut self.open {
            Some(open) => open,
            none => {
                let results = self.f.call(c, vec![self.source.clone()]).await?;
                none.insert(Function::dataset(&results)?.iterator(&self.inner)?)
            }
        })
    }
}

impl Iter for Transformed {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(async move { self.open(c).await?.next(c).await })
    }

    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            let iterator = self.open(c).await?;
            s.input("input", iterator, c).await
        })
    }
}
