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
    /// How long compiling may take.
    pub until: &'a Until,
    /// The device of each node, by number in the device list.
    pub device_of: &'a dyn Fn(NodeId) -> u16,
    /// Checks and changes of the caller, made after pruning and before any pass.
    pub prepare: &'a dyn Fn(&mut Work) -> Result<()>,
    /// The step in which constant folding runs kernels.
    pub step: Arc<StepContext>,
    /// What is known of shapes before the graph runs.
    pub shapes: KnownShapes,
    /// Whether nodes that are only waited for are skipped. Not in graphs that have been partitioned before: there it was done.
    pub skip_unused: bool,
    /// Bytes that a device receives from others before it uses them.
    pub recv_prefetch: u64,
}

impl<'a> Request<'a> {
    /// A graph on the first device of the list, of which nothing runs yet.
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
    /// Whether plans run on pool threads, which they must not keep.
    pub on_pool: bool,
}
