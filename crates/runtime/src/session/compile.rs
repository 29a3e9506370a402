//! From a run signature to plans, and the cache that keeps them.

use super::Inner;
use crate::partition::partition;
use crate::passes;
use crate::plan::Plan;
use crate::work::Work;
use std::collections::HashMap;
use std::sync::Arc;
use thalweg_core::dtype::DataType;
use thalweg_core::error::Result;
use thalweg_core::grad::{NodeId, Output};
use thalweg_core::invalid;
use thalweg_core::op::Class;
use thalweg_core::resource::lock;
use thalweg_core::shape::PartialShape;
use thalweg_core::step::{FunctionRunner, StepContext};
use thalweg_core::tensor::Tensor;

/// What is fed, fetched and run: the key of a plan.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    pub feeds: Vec<Output>,
    pub fetches: Vec<Output>,
    pub targets: Vec<NodeId>,
}

/// A signature compiled.
pub struct Compiled {
    pub parts: Vec<CompiledPart>,
    pub feeds: Vec<FeedInfo>,
    pub fetches: usize,
    pub functions: Arc<dyn FunctionRunner>,
}

pub struct CompiledPart {
    pub device: u16,
    pub plan: Arc<Plan>,
    /// Which fetches this part computes.
    pub fetches: Vec<usize>,
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
            return Err(invalid!("'{}' is {}, cannot feed it a {}", self.tensor, self.dtype, value.dtype()));
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
    pub fn compiled(&self, signature: &Signature) -> Result<Arc<Compiled>> {
        if let Some(found) = lock(&self.plans).get(signature) {
            return Ok(found);
        }
        let compiled = Arc::new(self.compile(signature)?);
        lock(&self.plans).insert(signature.clone(), compiled.clone());
        Ok(compiled)
    }

    fn compile(&self, signature: &Signature) -> Result<Compiled> {
        let placed = self.graph.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let graph = &placed.graph;
        for (i, f) in signature.feeds.iter().enumerate() {
            if signature.feeds[..i].contains(f) {
                return Err(invalid!("'{}' is fed twice", graph.tensor_name(*f)));
            }
        }
        let device_of = |id: NodeId| placed.placement.of(id);
        let mut work =
            Work::prune(graph, &device_of, &signature.feeds, &signature.fetches, &signature.targets)?;
        check_fed(&work)?;
        passes::expand(&mut work)?;
        passes::fold::read_constants(&mut work);
        if self.options.optimise {
            let step = Arc::new(StepContext::new(0, self.devices[0].context.clone()));
            passes::optimise(&mut work, &step)?;
        }
        let mut parts = Vec::new();
        for part in partition(work, &self.devices)? {
            let device = &self.devices[part.device as usize];
            let plan = Plan::compile(part.work, device.name(), &self.kernels, self.options.optimise)?;
            parts.push(CompiledPart { device: part.device, plan: Arc::new(plan), fetches: part.fetches });
        }
        let feeds = signature.feeds.iter().map(|o| feed_info(graph, *o)).collect();
        Ok(Compiled { parts, feeds, fetches: signature.fetches.len(), functions: placed.functions.clone() })
    }
}

fn feed_info(graph: &thalweg_graph::Graph, o: Output) -> FeedInfo {
    let node = graph.node(o.node);
    // What a placeholder declares is a promise to the rest of the graph; other tensors may be replaced by anything of their type.
    let declared = node.op.class == Class::Placeholder;
    let shape = if declared { graph.shape(o) } else { PartialShape::unknown() };
    FeedInfo { tensor: graph.tensor_name(o), dtype: graph.dtype(o), shape }
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
