//! `CacheDataset`, `CacheDatasetV2`: elements cached by the first iteration, in memory or in files.

use super::anonymous::{DELETE, DUMMY, anonymous};
use super::checkpoint::{Checkpoint, Work, work};
use super::context::Context;
use super::element_buffer::ElementBuffer;
use super::file_cache::{FileCache, Place};
use super::files::{path_of, text};
use super::sequence::{DATASET, Dataset, DatasetRef, Iter, Next, Tuple, emit, input, later, ready};
use crate::prelude::*;
use std::any::Any;
use std::sync::Mutex;
use thalweg_core::resource::Resource;
use thalweg_core::sync::lock;

pub static CACHE_DATASET: Op = Op {
    name: "CacheDataset",
    doc: "The elements of `input_dataset`, cached by the first iteration: in memory, or in files if there is a name.",
    inputs: &["input_dataset: variant", "filename: string"],
    kernels: cpu!(run),
    ..DATASET
};

pub static CACHE_DATASET_V2: Op = Op {
    name: "CacheDatasetV2",
    inputs: &["input_dataset: variant", "filename: string", "cache: resource"],
    stateful: true,
    ..CACHE_DATASET
};

pub static DUMMY_MEMORY_CACHE: Op = Op { name: "DummyMemoryCache", doc: "A handle to no cache.", ..DUMMY };

pub static ANONYMOUS_MEMORY_CACHE: Op = Op {
    name: "AnonymousMemoryCache",
    doc: "A new cache for the elements of a dataset.",
    outputs: &["handle: resource", "deleter: variant"],
    shape: shape_call::scalar,
    kernels: cpu!(make_cache),
    ..Op::STATEFUL
};

pub static DELETE_MEMORY_CACHE: Op = Op { name: "DeleteMemoryCache", ..DELETE };

fn make_cache(c: &mut OpCall<'_>) -> Result<()> {
    anonymous(c, Arc::new(MemoryCache::default()));
    Ok(())
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let input = input(c, 0)?;
    let filename = text(c, 1)?;
    if !filename.is_empty() {
        let place = Place { prefix: path_of(&filename), access: c.step.device.access.clone() };
        return emit(c, &[&input], FileCache { input: input.clone(), place });
    }
    let cache = match c.inputs.len() {
        3.. => c.resource(2).unwrap_or_default(),
        _ => Arc::default(),
    };
    emit(c, &[&input], Cache { input: input.clone(), cache })
}

/// All elements, once an iteration has reached the end.
#[derive(Default)]
struct MemoryCache(Mutex<Option<Arc<Vec<Tuple>>>>);

impl Resource for MemoryCache {
    fn kind(&self) -> &'static str {
        "MemoryCache"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Cache {
    input: DatasetRef,
    cache: Arc<MemoryCache>,
}

impl Dataset for Cache {
    fn iterator(&self, c: &Context) -> Result<Box<dyn Iter>> {
        let kept = lock(&self.cache.0).clone();
        let stage = match kept {
            Some(elements) => Stage::Kept { elements, at: 0 },
            None => Stage::Keeping { input: Some(self.input.iterator(c)?), seen: ElementBuffer::default() },
        };
        let (source, inner) = (self.input.clone(), c.without_cancellation());
        Ok(Box::new(CacheIter { cache: self.cache.clone(), stage, source, inner }))
    }
    fn cardinality(&self) -> i64 {
        self.input.cardinality()
    }
    fn random_access(&self) -> Result<()> {
        self.input.random_access()
    }
    fn get<'a>(&'a self, i: usize, c: &'a Context) -> Next<'a> {
        self.input.get(i as i64, c)
    }
}

struct CacheIter {
    cache: Arc<MemoryCache>,
    stage: Stage,
    source: DatasetRef,
    /// The context for the input's iterator.
    inner: Context,
}

enum Stage {
    /// The first iteration. One that does not reach the end caches nothing.
    Keeping {
        input: Option<Box<dyn Iter>>,
        seen: ElementBuffer,
    },
    Kept {
        elements: Arc<Vec<Tuple>>,
        at: usize,
    },
}

impl Iter for CacheIter {
    fn next<'a>(&'a mut self, c: &'a Context) -> Next<'a> {
        let cache = &self.cache;
        match &mut self.stage {
            Stage::Kept { elements, at } => {
                *at = at.saturating_add(1);
                ready(Ok(elements.get(*at - 1).cloned()))
            }
            Stage::Keeping { input, seen } => later(async move {
                let Some(iterator) = input else { return Ok(None) };
                match iterator.next(c).await? {
                    Some(element) => {
                        seen.push(element.clone())?;
                        Ok(Some(element))
                    }
                    None => {
                        *input = None;
                        let all = std::mem::take(seen).into_items();
                        lock(&cache.0).get_or_insert(Arc::new(all));
                        Ok(None)
                    }
                }
            }),
        }
    }

    /// A checkpoint has the cached elements: where it is restored there may be no cache.
    fn checkpoint<'a>(&'a mut self, s: &'a mut Checkpoint, c: &'a Context) -> Work<'a> {
        work(async move {
            let mut kept = matches!(self.stage, Stage::Kept { .. });
            s.flag("kept", &mut kept)?;
            if s.restoring() {
                self.stage = if kept {
                    Stage::Kept { elements: Arc::default(), at: 0 }
                } else {
                    Stage::Keeping {
                        input: Some(self.source.iterator(&self.inner)?),
                        seen: ElementBuffer::default(),
                    }
                };
            }
            match &mut self.stage {
                Stage::Keeping { input, seen } => {
                    s.elements("seen", seen)?;
                    s.input_until_end("input", input, c).await
                }
                Stage::Kept { elements, at } => {
                    s.number("at", at)?;
                    let mut all = ElementBuffer::default();
                    elements.iter().try_for_each(|e| all.push(e.clone()))?;
                    s.elements("elements", &mut all)?;
                    if s.restoring() {
                        *elements = Arc::new(all.into_items());
                        *lock(&self.cache.0) = Some(elements.clone());
                    }
                    Ok(())
                }
            }
        })
    }
}
