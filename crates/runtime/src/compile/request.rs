//! What a graph is compiled to compute, and for which devices.

use crate::device::Device;
use crate::passes::KnownShapes;
use crate::plan::KernelCache;
use crate::until::Until;
use crate::work::Work;
use std::sync::Arc;
use thalweg_core::error::Result;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::step::StepContext;
use thalweg_graph::Graph;

/// What to compile.
pub struct Request<'a> {
    pub graph: &'a Graph,
    pub feeds: &'a [Output],
    pub fetches: &'a [Output],
    pub targets: &'a [NodeId],
    /// The deadline of compiling.
    pub until: &'a Until,
    /// The device of each node, by number in the device list.
    pub device_of: &'a dyn Fn(NodeId) -> u16,
    /// Checks and rewrites of the caller, after pruning and before any pass.
    pub prepare: &'a dyn Fn(&mut Work) -> Result<()>,
    /// The step in which constant folding runs kernels.
    pub step: Arc<StepContext>,
    /// Shapes known before the graph runs.
    pub shapes: KnownShapes,
    /// Whether nodes with only control edges out are skipped. Not in graphs that were partitioned before: there it was done.
    pub skip_unused: bool,
    /// Bytes that a device prefetches from others.
    pub recv_prefetch: u64,
}

impl<'a> Request<'a> {
    /// A graph on the first device, without fetches or targets.
    pub fn new(graph: &'a Graph, step: Arc<StepContext>, until: &'a Until) -> Request<'a> {
        Request {
            graph,
            feeds: &[],
            fetches: &[],
            targets: &[],
            until,
            device_of: &|_| 0,
            prepare: &|_| Ok(()),
            step,
            shapes: KnownShapes::default(),
            skip_unused: false,
            recv_prefetch: u64::MAX,
        }
    }
}

/// Where the plans run.
pub struct Target<'a> {
    pub devices: &'a [Device],
    /// Whether a device belongs to another task.
    pub is_remote: &'a dyn Fn(u16) -> bool,
    pub kernels: &'a KernelCache,
    /// Whether passes that only save time are run. Results are the same either way.
    pub optimise: bool,
    /// Whether plans run on pool threads, which they must yield.
    pub on_pool: bool,
}
