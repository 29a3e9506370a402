//! From a run signature to plans, and the cache that keeps them.

use super::cluster::RegisteredPart;
use super::partition_graphs::task_graph;
use super::shape_specialised::ShapeSpecialised;
use super::{Inner, Placed, RunOptions, partial};
use crate::compile::{DevicePlan, Request, Target, partitions, plans};
use crate::last_duration::LastDuration;
use crate::partition::Part;
use crate::passes::KnownShapes;
use crate::plan::Plan;
use crate::until::Until;
use crate::work::Work;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use thalweg_core::cancel::Cancellation;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, internal};
use thalweg_core::invalid;
use thalweg_core::memory::{Held, Meter};
use thalweg_core::node::{NodeId, Output};
use thalweg_core::op::Class;
use thalweg_core::shape::{PartialShape, Shape};
use thalweg_core::step::{FunctionRunner, StepContext};
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;
use thalweg_graph::Graph;

/// What is fed, fetched and run: the key of a plan.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    pub feeds: Vec<Output>,
    pub fetches: Vec<Output>,
    pub targets: Vec<NodeId>,
    /// Feeds and fetches pass through the step's rendezvous while it runs, instead of before and after.
    pub partial: bool,
}

/// A signature compiled.
pub struct Compiled {
    pub signature: Signature,
    pub parts: Vec<CompiledPart>,
    pub feeds: Vec<FeedInfo>,
    pub fetches: usize,
    /// Other tasks that take part.
    pub tasks: Vec<usize>,
    pub functions: Arc<dyn FunctionRunner>,
    pub start_duration: LastDuration,
    /// For signatures whose feeds may come in several shapes.
    pub specialised: Option<ShapeSpecialised>,
    /// The memory of its plans.
    pub _held: Held,
}

/// What one device, or one other task, does in a step.
pub struct CompiledPart {
    pub plan: PartPlan,
    /// Which fetches this part computes.
    pub fetches: Vec<usize>,
}

pub enum PartPlan {
    /// On a device of this process.
    Local { device: u16, plan: Arc<Plan> },
    /// On another task, which wants these of the feeds.
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

    /// Whether it keeps a thread of this process for as long as a loop takes.
    pub fn has_loops(&self) -> bool {
        matches!(&self.plan, PartPlan::Local { plan, .. } if plan.has_loops())
    }

    /// Nodes of its plan, if it is ours.
    pub fn planned_nodes(&self) -> usize {
        match &self.plan {
            PartPlan::Local { plan, .. } => plan.len(),
            PartPlan::Remote { .. } => 0,
        }
    }
}

/// What may be fed.
pub struct FeedInfo {
    pub tensor: String,
    pub dtype: DataType,
    pub shape: PartialShape,
}

impl FeedInfo {
    pub fn check(&self, value: &Tensor) -> Result<()> {
        if value.dtype() != self.dtype {
            let (name, want, got) = (&self.tensor, self.dtype, value.dtype());
            return Err(invalid!("'{name}' is {want}, cannot feed it a {got}; give it values of {want}"));
        }
        if !self.shape.allows(value.shape()) {
            return Err(invalid!(
                "Cannot feed value of shape {} for Tensor '{}', which has shape {}",
                value.shape(),
                self.tensor,
                self.shape
            ));
        }
        Ok(())
    }
}

/// Plans by signature. Bounded: the one not used for longest goes.
#[derive(Default)]
pub struct PlanCache {
    plans: HashMap<Signature, (u64, Arc<Compiled>)>,
    clock: u64,
}

const MAX_PLANS: usize = 512;

impl PlanCache {
    pub fn get(&mut self, signature: &Signature) -> Option<Arc<Compiled>> {
        self.clock += 1;
        let found = self.plans.get_mut(signature)?;
        found.0 = self.clock;
        Some(found.1.clone())
    }

    fn insert(&mut self, signature: Signature, compiled: Arc<Compiled>) {
        if self.plans.len() >= MAX_PLANS
            && let Some(oldest) = self.plans.iter().min_by_key(|(_, (used, _))| *used).map(|(s, _)| s.clone())
        {
            self.plans.remove(&oldest);
        }
        self.clock += 1;
        self.plans.insert(signature, (self.clock, compiled));
    }
}

impl Inner {
    /// Of the options, those count that end a run.
    pub fn compiled(&self, signature: &Signature, options: &RunOptions) -> Result<Arc<Compiled>> {
        if let Some(found) = lock(&self.plans).get(signature) {
            return Ok(found);
        }
        let compiled = Arc::new(self.compile(signature, None, options)?);
        lock(&self.plans).insert(signature.clone(), compiled.clone());
        Ok(compiled)
    }

    /// `shapes`: of the values that the feeds will have, if they are known to have no others.
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
            let feeds: Vec<_> = signature.feeds.iter().map(|o| feed_info(&placed.graph, *o)).collect();
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
        // What passes through the rendezvous is neither given before nor taken after.
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
        check_feeds_differ(graph, signature)?;
        let step = Arc::new(StepContext::new(0, self.devices[0].context.clone()));
        let request = Request {
            feeds: &signature.feeds,
            fetches: &signature.fetches,
            targets: &signature.targets,
            device_of: &|id| placed.placement.of(id),
            prepare: &|work| {
                check_fed(work)?;
                if signature.partial {
                    // The client of a partial run talks to this process only.
                    let home = self.cluster.as_ref().map(|_| 0);
                    partial::open_ends(work, graph, signature, home)?;
                }
                Ok(())
            },
            shapes: known_shapes(graph, signature, shapes),
            skip_unused: true,
            recv_prefetch: self.options.receive_ahead,
            ..Request::new(graph, step, until)
        };
        self.with_target(|target| partitions(&request, target))
    }
}

fn check_feeds_differ(graph: &Graph, signature: &Signature) -> Result<()> {
    let mut fed = HashSet::new();
    match signature.feeds.iter().find(|f| !fed.insert(**f)) {
        Some(twice) => Err(invalid!("Duplicated feeds: {}", graph.tensor_name(*twice))),
        None => Ok(()),
    }
}

pub fn feed_info(graph: &Graph, o: Output) -> FeedInfo {
    let node = graph.node(o.node);
    // What a placeholder declares is a promise to the rest of the graph; other tensors may be replaced by anything of their type.
    let declared = node.op.class == Class::Placeholder;
    let shape = if declared { graph.shape(o) } else { PartialShape::unknown() };
    FeedInfo { tensor: graph.tensor_name(o), dtype: graph.dtype(o), shape }
}

/// The shapes that feeds are known to have, or that every step checks them to have. What a partial run is fed comes when it likes.
fn known_shapes(graph: &Graph, signature: &Signature, shapes: Option<&[Shape]>) -> KnownShapes {
    let declared = if signature.partial { &[] } else { signature.feeds.as_slice() };
    let feeds = match shapes {
        Some(shapes) => shapes.iter().map(PartialShape::from).collect(),
        None => declared.iter().map(|o| feed_info(graph, *o).shape).collect(),
    };
    let reshapes = |node: &thalweg_graph::Node| {
        node.outputs.first().is_some_and(|p| p.is_ref) && node.attrs.bool("validate_shape").is_ok_and(|v| !v)
    };
    KnownShapes { feeds, references: !graph.nodes().iter().any(reshapes) }
}

/// A placeholder left in the graph was not fed. Behind control flow it may never be reached, so that is left to the run.
fn check_fed(work: &Work) -> Result<()> {
    if work.has_control_flow {
        return Ok(());
    }
    for node in &work.nodes {
        if node.op.class == Class::Placeholder {
            let dtype = node.outputs.first().map_or(DataType::Float, |p| p.dtype);
            return Err(invalid!(
                "You must feed a value for placeholder tensor '{}' with dtype {dtype}",
                node.name
            )
            .at_node(&node.name, node.op.name)
            .at(node.location));
        }
    }
    Ok(())
}
