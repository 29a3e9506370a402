//! From a graph to plans: the one path that sessions (`session`), functions called at run time (`functions`) and the parts that
//! a task runs for a master (`task_plans`) take.
//!
//! ```text
//! graph ── prune ── lower ── simplify ── partition ──┬── fuse ── plan     on each device of this process
//!                                                    └── part             for the devices of other tasks
//! ```
//!
//! Callers differ only in the fields of `Request` and `Target`.

mod request;

pub use request::{Request, Target};

use crate::executor::LOOP_KERNELS;
use crate::partition::{Part, RecvPrefetch, partition};
use crate::passes::{self, KnownShapes, PassContext, Stage};
use crate::plan::Plan;
use crate::work::{Work, WorkNode};
use std::sync::Arc;
use thalweg_core::error::{Result, internal};
use thalweg_core::step::StepContext;
use thalweg_graph::Graph;

/// What a request is compiled to.
#[derive(Default)]
pub struct Plans {
    pub local: Vec<DevicePlan>,
    /// Parts for devices of other tasks, which compile them.
    pub remote: Vec<Part>,
}

/// The plan of one device.
pub struct DevicePlan {
    pub device: u16,
    pub plan: Arc<Plan>,
    /// Which fetches it computes.
    pub fetches: Vec<usize>,
}

impl Plans {
    /// The plan of a graph that runs on one device.
    pub fn single(self) -> Result<Arc<Plan>> {
        let mut local = self.local.into_iter();
        match (local.next(), local.next()) {
            (Some(only), None) if self.remote.is_empty() => Ok(only.plan),
            _ => Err(internal("the graph of one device was partitioned")),
        }
    }
}

pub fn compile(request: &Request<'_>, target: &Target<'_>) -> Result<Plans> {
    plans(partitions(request, target)?, target)
}

/// The first half of `compile`: passes that need the graph.
pub fn partitions(request: &Request<'_>, target: &Target<'_>) -> Result<Vec<Part>> {
    let mut work = Work::prune(
        request.graph,
        request.device_of,
        request.feeds,
        request.fetches,
        request.targets,
        request.until,
    )?;
    work.devices = target.devices.iter().map(|d| d.spec.clone()).collect();
    work.check_memory()?;
    (request.prepare)(&mut work)?;
    let context =
        PassContext { step: &request.step, shapes: &request.shapes, skip_unused: request.skip_unused };
    passes::run(Stage::Lower, &mut work, &context)?;
    if target.optimise {
        passes::run(Stage::Simplify, &mut work, &context)?;
    }
    let prefetch = RecvPrefetch {
        limit: request.recv_prefetch,
        bytes: &|node, index| static_bytes(request.graph, node, index),
    };
    partition(work, target.devices, prefetch)
}

/// The second half of `compile`: each part becomes the plan of its device.
pub fn plans(parts: Vec<Part>, target: &Target<'_>) -> Result<Plans> {
    // Of several parts, all but one run on the pool.
    let on_pool = target.on_pool || parts.len() > 1;
    let mut plans = Plans::default();
    for part in parts {
        if (target.is_remote)(part.device) {
            plans.remote.push(part);
        } else {
            plans.local.push(plan(part, target, on_pool)?);
        }
    }
    Ok(plans)
}

fn plan(part: Part, target: &Target<'_>, on_pool: bool) -> Result<DevicePlan> {
    let Part { device, mut work, fetches } = part;
    let on = target.devices.get(device as usize).ok_or_else(|| internal("a part without a device"))?;
    if target.optimise {
        let (step, shapes) = (Arc::new(StepContext::new(0, on.context.clone())), KnownShapes::default());
        let context = PassContext { step: &step, shapes: &shapes, skip_unused: false };
        passes::run(Stage::Fuse, &mut work, &context)?;
    }
    let loops = target.optimise.then_some(LOOP_KERNELS);
    let plan = Arc::new(Plan::compile(work, on.name(), target.kernels, loops, on_pool)?);
    Ok(DevicePlan { device, plan, fetches })
}

/// The size of an output, at least: an unknown dimension counts as 1.
fn static_bytes(graph: &Graph, node: &WorkNode, index: u32) -> u64 {
    let Some(id) = graph.find(&node.name) else { return 0 };
    let (Some(port), true) =
        (node.outputs.get(index as usize), (index as usize) < graph.node(id).outputs.len())
    else {
        return 0;
    };
    let shape = graph.shape(id.output(index));
    let elements = shape.dims().unwrap_or_default().iter().map(|d| u64::try_from(*d).unwrap_or(1));
    elements.fold(port.dtype.size() as u64, u64::saturating_mul)
}
