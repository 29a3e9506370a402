//! `OneShotIterator`: an iterator that creates its dataset on first use.

use super::function::Function;
use super::iterator::Iterator;
use super::iterator_v2::{find_or_make, handle};
use crate::named::ResourceKey;
use crate::prelude::*;
use std::any::Any;
use std::sync::Mutex;
use thalweg_core::resource::Resource;
use thalweg_core::step::StepContext;
use thalweg_core::sync::lock;

pub static ONE_SHOT_ITERATOR: Op = Op {
    name: "OneShotIterator",
    doc: "A handle to an iterator over the dataset that `dataset_factory` makes, once.",
    outputs: &["handle: resource"],
    attrs: &[
        "dataset_factory: func",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "container: string = ''",
        "shared_name: string = ''",
    ],
    shape: shape_call::scalar,
    kernels: cpu!(async prepare),
    ..Op::STATEFUL
};

fn prepare(node: &KernelNode) -> Result<Arc<dyn AsyncKernel>> {
    let factory = node.attrs.func("dataset_factory")?.clone();
    Ok(Arc::new(OneShot { key: Arc::new(ResourceKey::own(node)?), factory }))
}

struct OneShot {
    key: Arc<ResourceKey>,
    factory: Func,
}

/// Whether the dataset was created; beside the iterator.
#[derive(Default)]
struct Start(Mutex<Stage>);

#[derive(Default)]
enum Stage {
    #[default]
    Before,
    /// The factory is running; these requests wait for it.
    UnderWay(Vec<OnStarted>),
    After(Result<()>),
}

type OnStarted = Box<dyn FnOnce(Result<()>) + Send>;

impl Resource for Start {
    fn kind(&self) -> &'static str {
        "one-shot iterator's start"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl AsyncKernel for OneShot {
    fn start(&self, call: AsyncCall, done: Done) {
        let found = self.find(&call);
        let (iterator, start) = match found {
            Ok(found) => found,
            Err(e) => return done(Err(e)),
        };
        let (key, step, given) = (self.key.clone(), call.step.clone(), iterator.clone());
        let answer: OnStarted =
            Box::new(move |started| done(started.map(|()| outputs([handle(&key, &step, given)]))));
        if start.join(answer) {
            let (start, step) = (start.clone(), call.step.clone());
            call.step.call(&self.factory, vec![], Box::new(move |r| start.end(begin(&iterator, r, &step))));
        }
    }
}

fn begin(iterator: &Iterator, made: Result<Vec<Tensor>>, step: &StepContext) -> Result<()> {
    iterator.begin(&Function::dataset(&made?)?, step)
}

impl OneShot {
    fn find(&self, call: &AsyncCall) -> Result<(Arc<Iterator>, Arc<Start>)> {
        let iterator = find_or_make(&self.key, &call.node, &call.step)?;
        let (store, name) = (&call.step.device.resources, format!("{}/start", self.key.name));
        Ok((iterator, store.get_or_create(&self.key.container, &name, || Ok(Start::default()))?))
    }
}

impl Start {
    /// Calls back once the dataset exists. True: the caller must create it.
    fn join(&self, answer: OnStarted) -> bool {
        let mut stage = lock(&self.0);
        match &mut *stage {
            Stage::Before => {
                *stage = Stage::UnderWay(vec![answer]);
                true
            }
            Stage::UnderWay(waiting) => {
                match reserve::room(waiting, 1) {
                    Ok(()) => waiting.push(answer),
                    Err(e) => {
                        drop(stage);
                        answer(Err(e));
                    }
                }
                false
            }
            Stage::After(result) => {
                let result = result.clone();
                drop(stage);
                answer(result);
                false
            }
        }
    }

    fn end(&self, result: Result<()>) {
        // After a cancelled step the next one retries.
        let retry = matches!(&result, Err(e) if e.code() == Code::Cancelled);
        let stage = if retry { Stage::Before } else { Stage::After(result.clone()) };
        let before = std::mem::replace(&mut *lock(&self.0), stage);
        if let Stage::UnderWay(waiting) = before {
            waiting.into_iter().for_each(|answer| answer(result.clone()));
        }
    }
}
