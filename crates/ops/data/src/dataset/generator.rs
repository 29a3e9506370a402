//! `GeneratorDataset`: elements that a function makes from a state, until it fails with OutOfRange.

use super::checkpoint::{Checkpoint, Work, done};
use super::context::Context;
use super::function::Function;
use super::sequence::{Dataset, Element, Iter, Next, SOURCE, Tuple, emit, later};
use super::task::Task;
use crate::prelude::*;

pub static GENERATOR_DATASET: Op = Op {
    name: "GeneratorDataset",
    doc: "The results of `next_func` of the state that `init_func` makes, until it ends; then, or when the iterator is given up, \
          `finalize_func` is called.",
    inputs: &[
        "init_func_other_args: Tinit_func_args",
        "next_func_other_args: Tnext_func_args",
        "finalize_func_other_args: Tfinalize_func_args",
    ],
    attrs: &[
        "init_func: func",
        "next_func: func",
        "finalize_func: func",
        "Tinit_func_args: list(type) >= 0",
        "Tnext_func_args: list(type) >= 0",
        "Tfinalize_func_args: list(type) >= 0",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "metadata: string = ''",
    ],
    kernels: cpu!(run),
    ..SOURCE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let generator = Generator {
        init: Function::of(c, "init_func", 0)?,
        next: Function::of(c, "next_func", 1)?,
        finalize: Function::of(c, "finalize_func", 2)?,
    };
    emit(c, &[], generator)
}

#[derive(Clone)]
struct Generator {
    init: Function,
    next: Function,
    finalize: Function,
}

impl Dataset for Generator {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let inner = c.without_cancellation();
        Ok(Box::new(GeneratorIter { functions: self.clone(), stage: Stage::New, inner }))
    }
}

enum Stage {
    New,
    Open(Tuple),
    Ended,
}

struct GeneratorIter {
    functions: Generator,
    stage: Stage,
    /// The context in which an iterator that is given up is finalized.
    inner: Context,
}

impl GeneratorIter {
    async fn step(&mut self, c: &Context) -> Element {
        if matches!(self.stage, Stage::New) {
            self.stage = Stage::Open(self.functions.init.call(c, Tuple::new()).await?);
        }
        let Stage::Open(state) = &self.stage else { return Ok(None) };
        match self.functions.next.call(c, state.clone()).await {
            Err(e) if e.code() == Code::OutOfRange => {
                let state = state.clone();
                self.stage = Stage::Ended;
                self.functions.finalize.call(c, state).await.map(|_| None)
            }
            other => other.map(Some),
        }
    }
}

impl Iter for GeneratorIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        later(self.step(c))
    }

    fn checkpoint<'a>(&'a mut self, _: &'a mut Checkpoint, _: &'a Context) -> Work<'a> {
        done(Err(unimplemented("GeneratorDataset does not support checkpointing.")))
    }
}

impl Drop for GeneratorIter {
    fn drop(&mut self) {
        let Stage::Open(state) = std::mem::replace(&mut self.stage, Stage::Ended) else { return };
        let Ok(device) = self.inner.device() else { return };
        let (finalize, inner) = (self.functions.finalize.clone(), self.inner.clone());
        Task::spawn(&device, async move {
            // Nobody waits for the result.
            let _ = finalize.call(&inner, state).await;
        });
    }
}
