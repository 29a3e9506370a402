//! From a run signature to plans.

use super::cluster::RegisteredPart;
use super::feeds::{self, FeedInfo, feed_info};
use super::partition_graphs::task_graph;
use super::shape_specialised::ShapeSpecialised;
use super::{Inner, Placed, RunOptions, partial};
use crate::compile::{DevicePlan, Request, Target, partitions, plans};
use crate::last_duration::LastDuration;
use crate::partition::Part;
use crate::plan::Plan;
use crate::until::Until;
use std::collections::BTreeMap;
use std::sync::Arc;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Result, internal};
use thalweg_core::memory::{Held, Meter};
use thalweg_core::node::{NodeId, Output};
use thalweg_core::shape::Shape;
use thalweg_core::step::{FunctionRunner, StepContext};
use thalweg_core::sync::lock;

/// A run signature: feeds, fetches and targets. The key of the plan cache.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    pub feeds: Vec<Output>,
    pub fetches: Vec<Output>,
    pub targets: Vec<NodeId>,
    /// Feeds and fetches pass through the step's rendezvous while it runs, instead of before and after.
    pub partial: bool,
}

/// A compiled signature.
pub struct Compiled {
    pub signature: Signature,
    pub parts: Vec<CompiledPart>,
    pub feeds: Vec<FeedInfo>,
    pub fetches: usize,
    /// Other tasks that run a part.
    pub tasks: Vec<usize>,
    pub functions: Arc<dyn FunctionRunner>,
    pub start_duration: LastDuration,
    /// For signatures whose feeds may have several shapes.
    pub specialised: Option<ShapeSpecialised>,
    /// The memory of its plans.
    pub _held: Held,
}

/// The part of one device, or of one other task, in a step.
pub struct CompiledPart {
    pub plan: PartPlan,
    /// Which fetches this part computes.
    pub fetches: Vec<usize>,
}

pub enum PartPlan {
    /// On a device of this process.
    Local { device: u16, plan: Arc<Plan> },
    /// On another task, which needs these of the feeds.
    Remote { task: usize, part: Arc<dyn RegisteredPart>, feeds: Vec<usize> },
}

impl CompiledPart {
    fn local(plan: DevicePlan) -> CompiledPart {
        let DevicePlan { device, plan, fetches } = plan;
        CompiledPart { plan: PartPlan::Local { device, plan }, fetches }
    }

    pub fn is_local(&self) -> bool {
        matches!(self.plan, PartPlan::Local { .. })
    }

    fn task(&self) -> Option<usize> {
        match self.plan {
            PartPlan::Local { .. } => None,
            PartPlan::Remote { task, .. } => Some(task),
        }
    }

    /// Whether it runs loops in this process.
    pub fn has_loops(&self) -> bool {
        matches!(&self.plan, PartPlan::Local { plan, .. } if plan.has_loops())
    }

    /// Nodes of its plan, if it is local.
    pub fn planned_nodes(&self) -> usize {
        match &self.plan {
            PartPlan::Local { plan, .. } => plan.len(),
            PartPlan::Remote { .. } => 0,
        }
    }
}

impl Inner {
    /// The plans of a signature, from the cache or compiled. The timeout and cancellation of the options apply.
    pub fn compiled(&self, signature: &Signature, options: &RunOptions) -> Result<Arc<Compiled>> {
        if let Some(found) = lock(&self.plans).get(signature) {
            return Ok(found);
        }
        let compiled = Arc::new(self.compile(signature, None, options)?);
        lock(&self.plans).insert(signature.clone(), compiled.clone());
        Ok(compiled)
    }

    /// `shapes`: for a shape-specialised plan, those of the feeds.
    pub fn compile(
        &self,
        signature: &Signature,
        shapes: Option<&[Shape]>,
        options: &RunOptions,
    ) -> Result<Compiled> {
        let cancel = Arc::new(Cancellation::default());
        let others = [Some(&self.closing), options.cancel.as_deref()];
        let followed = others.map(|other| other.map(|other| (other, cancel.follow(other))));
        let limit = options.timeout.or(self.options.operation_timeout);
        let compiled = self.compile_until(signature, shapes, &Until::new(Some(cancel), limit));
        followed.into_iter().flatten().for_each(|(other, id)| other.forget(id));
        compiled
    }

    fn compile_until(
        &self,
        signature: &Signature,
        shapes: Option<&[Shape]>,
        until: &Until,
    ) -> Result<Compiled> {
        let (_charged, meter) = (self.memory().enter(), Meter::start());
        let (parts, feeds, functions) = {
            let placed = self.graph.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            let any_shape = self.options.any_feed_shape;
            let feeds: Vec<_> =
                signature.feeds.iter().map(|o| feed_info(&placed.graph, *o, any_shape)).collect();
            (self.partitions(&placed, signature, shapes, until)?, feeds, placed.functions.clone())
        };
        let names: Vec<String> = feeds.iter().map(|f| f.tensor.clone()).collect();
        // The second half holds no lock on the graph.
        let plans = self.with_target(|target| plans(parts, target))?;
        let mut compiled: Vec<CompiledPart> = plans.local.into_iter().map(CompiledPart::local).collect();
        for (task, parts) in self.by_task(plans.remote) {
            until.check()?;
            compiled.push(self.register(task, &parts, &names)?);
        }
        // Feeds and fetches of a partial run go through the rendezvous.
        let (feeds, fetches) =
            if signature.partial { (Vec::new(), 0) } else { (feeds, signature.fetches.len()) };
        let is_local = compiled.iter().all(CompiledPart::is_local);
        let is_open = feeds.iter().any(|f| !f.shape.is_fully_known());
        let specialise = self.options.optimise && shapes.is_none() && is_local && is_open;
        Ok(Compiled {
            signature: signature.clone(),
            tasks: compiled.iter().filter_map(|p| p.task()).collect(),
            parts: compiled,
            feeds,
            fetches,
            functions,
            start_duration: LastDuration::default(),
            specialised: specialise.then(ShapeSpecialised::default),
            _held: self.memory().hold(meter.grown()),
        })
    }

    fn by_task(&self, parts: Vec<Part>) -> BTreeMap<usize, Vec<Part>> {
        let mut found: BTreeMap<usize, Vec<Part>> = BTreeMap::new();
        for part in parts {
            if let Some(task) = self.task_of(part.device) {
                found.entry(task).or_default().push(part);
            }
        }
        found
    }

    fn task_of(&self, device: u16) -> Option<usize> {
        let cluster = self.cluster.as_ref()?;
        cluster.task_of(&self.devices[device as usize])
    }

    fn register(&self, task: usize, parts: &[Part], feeds: &[String]) -> Result<CompiledPart> {
        let cluster = self.cluster.as_ref().ok_or_else(|| internal("another task without a cluster"))?;
        let (graph, feeds, fetches) = task_graph(parts, &self.devices, feeds)?;
        let part = cluster.register(task, graph)?;
        Ok(CompiledPart { plan: PartPlan::Remote { task, part, feeds }, fetches })
    }

    /// Where this session's plans run.
    pub fn with_target<R>(&self, compile: impl FnOnce(&Target<'_>) -> R) -> R {
        compile(&Target {
            devices: &self.devices,
            is_remote: &|device| self.task_of(device).is_some(),
            kernels: &self.kernels,
            optimise: self.options.optimise,
            on_pool: false,
        })
    }

    /// The graph of a signature, pruned, simplified and partitioned by device.
    pub fn partitions(
        &self,
        placed: &Placed,
        signature: &Signature,
        shapes: Option<&[Shape]>,
        until: &Until,
    ) -> Result<Vec<Part>> {
        let graph = &placed.graph;
        feeds::check_distinct(graph, signature)?;
        let step = Arc::new(StepContext::new(0, self.devices[0].context.clone()));
        let request = Request {
            feeds: &signature.feeds,
            fetches: &signature.fetches,
            targets: &signature.targets,
            device_of: &|id| placed.placement.of(id),
            prepare: &|work| {
                if !signature.partial {
                    return feeds::check_fed(work);
                }
                // The client of a partial run talks to this process only. Placeholders that it does not name fail the part that needs them.
                let home = self.cluster.as_ref().map(|_| 0);
                partial::add_client_transfers(work, graph, signature, home)
            },
            shapes: feeds::known_shapes(graph, signature, shapes, self.options.any_feed_shape),
            skip_unused: true,
            recv_prefetch: self.options.receive_ahead,
            ..Request::new(graph, step, until)
        };
        self.with_target(|target| partitions(&request, target))
    }
}
