//! The part of a graph that a task runs for a master: one plan for each of its devices. Feeds and fetches are Recvs and Sends.

use crate::compile::{Request, Target, compile};
use crate::device::Device;
use crate::executor::{self, OnFinish, PartResults, RunInput};
use crate::functions::Functions;
use crate::last_duration::LastDuration;
use crate::plan::{KernelCache, Plan};
use crate::trace::{StepTimings, Tracer};
use crate::until::Until;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::node::NodeId;
use thalweg_core::op::Class;
use thalweg_core::rendezvous::Rendezvous;
use thalweg_core::step::{StepContext, Trace};
use thalweg_graph::Graph;

pub struct TaskPlans {
    plans: Vec<(Device, Arc<Plan>)>,
    functions: Arc<Functions>,
    start_duration: LastDuration,
}

/// The step of a master, for a task.
pub struct TaskStep {
    pub id: u64,
    pub rendezvous: Arc<dyn Rendezvous>,
    pub cancel: Arc<Cancellation>,
    pub trace: bool,
}

impl TaskPlans {
    /// `has_control_flow`: dead tensors may arrive, even if no node of this part is control flow.
    pub fn compile(
        graph: &Graph,
        devices: &[Device],
        kernels: &Arc<KernelCache>,
        has_control_flow: bool,
        optimise: bool,
        until: &Until,
    ) -> Result<TaskPlans> {
        let (registry, library) = (graph.registry.clone(), graph.library.clone());
        let functions = Functions::new(registry, library, kernels.clone(), optimise, devices);
        let mut plans = Vec::new();
        let by_device = by_device(graph, devices)?;
        let on_pool = by_device.len() > 1;
        for (at, nodes) in by_device {
            let device = &devices[at];
            let step = Arc::new(StepContext::new(0, device.context.clone()));
            let request = Request {
                targets: &sinks(graph, &nodes),
                prepare: &|work| {
                    work.has_control_flow |= has_control_flow;
                    Ok(())
                },
                ..Request::new(graph, step, until)
            };
            let target = Target {
                devices: std::slice::from_ref(device),
                is_remote: &|_| false,
                kernels,
                optimise,
                on_pool,
            };
            plans.push((device.clone(), compile(&request, &target)?.single()?));
        }
        Ok(TaskPlans { plans, functions: Arc::new(functions), start_duration: LastDuration::default() })
    }

    /// Whether the last `start` returned within this time, and the next can be expected to; false before the first.
    pub fn starts_within(&self, limit: Duration) -> bool {
        self.start_duration.within(limit) && !self.plans.iter().any(|(_, p)| p.has_loops())
    }

    /// Starts all plans. `done` is called once, from any thread, when all have ended.
    pub fn start(&self, step: TaskStep, done: Box<dyn FnOnce(Result<StepTimings>) + Send>) {
        let began = Instant::now();
        self.start_plans(step, done);
        self.start_duration.note(began.elapsed());
    }

    fn start_plans(&self, step: TaskStep, done: Box<dyn FnOnce(Result<StepTimings>) + Send>) {
        let trace = step.trace.then(|| Arc::new(Tracer::new()));
        let recorded = trace.clone();
        let finish: OnFinish = Box::new(move |r| {
            done(r.map(|_| recorded.map(|t| t.timings()).unwrap_or_default()));
        });
        if self.plans.is_empty() {
            return finish(Ok(Vec::new()));
        }
        let results = PartResults::new(0, self.plans.len(), step.cancel.clone(), finish);
        for (device, plan) in &self.plans {
            let mut context = StepContext::new(step.id, device.context.clone());
            context.cancel = step.cancel.clone();
            context.functions = Some(self.functions.clone());
            context.trace = trace.clone().map(|t| t as Arc<dyn Trace>);
            context.rendezvous = step.rendezvous.clone();
            let input = RunInput { feeds: Vec::new(), step: Arc::new(context) };
            let done = results.part(Vec::new());
            // A single plan runs on this thread.
            match self.plans.len() {
                1 => executor::start(plan, input, done),
                _ => executor::spawn(plan.clone(), input, done),
            }
        }
    }
}

/// The nodes of each device. Every node has a full device name.
fn by_device(graph: &Graph, devices: &[Device]) -> Result<BTreeMap<usize, Vec<NodeId>>> {
    let mut found: BTreeMap<usize, Vec<NodeId>> = BTreeMap::new();
    for id in graph.ids() {
        let node = graph.node(id);
        let at = devices.iter().position(|d| d.name() == &*node.device).ok_or_else(|| {
            node.blame(invalid!("is for device '{}', which this task does not have", node.device))
        })?;
        found.entry(at).or_default().push(id);
    }
    Ok(found)
}

/// Nodes without users: as targets, they make all nodes run.
fn sinks(graph: &Graph, nodes: &[NodeId]) -> Vec<NodeId> {
    let mut used = vec![false; graph.len()];
    for id in nodes {
        let node = graph.node(*id);
        // A back edge is no use: otherwise every node of a loop would have a user.
        if node.op.class == Class::Merge {
            continue;
        }
        node.inputs.iter().for_each(|o| used[o.node.at()] = true);
        node.control.iter().for_each(|c| used[c.at()] = true);
    }
    nodes.iter().copied().filter(|id| !used[id.at()]).collect()
}
