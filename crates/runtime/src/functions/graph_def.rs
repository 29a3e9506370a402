//! Runs of graphs that kernels have: a dataset that was serialised.

use super::Functions;
use crate::plan::{KernelCache, Plan};
use std::sync::{Arc, Mutex};
use thalweg_core::error::Result;
use thalweg_core::step::StepContext;
use thalweg_graph::serialized;

/// The plan of a serialised GraphDef, and the step it runs in: the graph's functions are its own.
pub fn prepare(
    functions: &Functions,
    graph_def: &[u8],
    step: &Arc<StepContext>,
) -> Result<(Arc<Plan>, Arc<StepContext>)> {
    let (graph, fetch) = serialized::deserialize(&functions.registry, graph_def)?;
    let own = Arc::new(Functions {
        registry: functions.registry.clone(),
        library: graph.library.clone(),
        // Its nodes may have the names of others.
        kernels: Arc::new(KernelCache::default()),
        optimise: functions.optimise,
        devices: functions.devices.clone(),
        plans: Mutex::default(),
    });
    let mut inner = StepContext::new(step.step_id, step.device.clone());
    inner.functions = Some(own.clone());
    let inner = Arc::new(inner.within(step));
    let plan = own.plan(&graph, (&[], &[fetch], &[]), &own.kernels, &inner)?;
    Ok((plan, inner))
}
