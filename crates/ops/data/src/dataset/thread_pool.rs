//! `ThreadPoolHandle`, `ThreadPoolDataset`: a pool of threads for datasets. Here they run on the pool of the device.

use super::pass_through::{NON_SERIALIZABLE_DATASET, run};
use crate::named::OwnedResource;
use crate::prelude::*;
use std::any::Any;
use thalweg_core::resource::Resource;

pub static THREAD_POOL_HANDLE: Op = Op {
    name: "ThreadPoolHandle",
    doc: "A handle to a pool of threads. No threads are started: datasets run on the pool of the device.",
    outputs: &["handle: resource"],
    attrs: &[
        "num_threads: int",
        "max_intra_op_parallelism: int = 1",
        "display_name: string",
        "container: string = ''",
        "shared_name: string = ''",
    ],
    shape: shape_call::scalar,
    kernels: cpu!(make handle),
    ..Op::STATEFUL
};

pub static EXPERIMENTAL_THREAD_POOL_HANDLE: Op =
    Op { name: "ExperimentalThreadPoolHandle", ..THREAD_POOL_HANDLE };

pub static THREAD_POOL_DATASET: Op = Op {
    name: "ThreadPoolDataset",
    doc: "`input_dataset`, which runs on the pool of the device.",
    inputs: &["input_dataset: variant", "thread_pool: resource"],
    kernels: cpu!(on_pool),
    stateful: true,
    ..NON_SERIALIZABLE_DATASET
};

pub static EXPERIMENTAL_THREAD_POOL_DATASET: Op =
    Op { name: "ExperimentalThreadPoolDataset", ..THREAD_POOL_DATASET };

struct ThreadPool;

impl Resource for ThreadPool {
    fn kind(&self) -> &'static str {
        "ThreadPool"
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn handle(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    if node.attrs.int("num_threads")? < 0 {
        return Err(invalid!("`num_threads` must be >= 0"));
    }
    let owned = OwnedResource::new(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let pool = owned.get(c, |_| Ok(ThreadPool))?;
        owned.output_handle(c, pool);
        Ok(())
    }))
}

fn on_pool(c: &mut OpCall<'_>) -> Result<()> {
    c.resource::<ThreadPool>(1)?;
    run(c)
}
