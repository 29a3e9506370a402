//! Functions called at run time: each is compiled once per set of attrs, and run as a separate plan within the step.

mod graph_def;

use crate::compile::{Request, Target, compile};
use crate::device::{Device, DeviceSpec};
use crate::executor::{self, RunInput};
use crate::plan::{KernelCache, Plan};
use crate::until::Until;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use thalweg_core::attr::Func;
use thalweg_core::error::{Result, unimplemented};
use thalweg_core::invalid;
use thalweg_core::node::{NodeId, Output};
use thalweg_core::registry::Registry;
use thalweg_core::step::{FunctionRunner, GraphNode, Names, OnResults, SerializedGraph, StepContext};
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;
use thalweg_graph::function::Library;
use thalweg_graph::{Graph, serialized};

pub struct Functions {
    registry: Arc<Registry>,
    library: Library,
    kernels: Arc<KernelCache>,
    optimise: bool,
    /// The devices of the session, or of the task.
    devices: Vec<Device>,
    plans: Mutex<HashMap<String, Arc<Compiled>>>,
}

struct Compiled {
    plan: Arc<Plan>,
    args: usize,
}

/// Capacity of the cache; programs have fewer functions.
const MAX_PLANS: usize = 1024;

impl Functions {
    pub fn new(
        registry: Arc<Registry>,
        library: Library,
        kernels: Arc<KernelCache>,
        optimise: bool,
        devices: &[Device],
    ) -> Self {
        let devices = devices.to_vec();
        Functions { registry, library, kernels, optimise, devices, plans: Mutex::default() }
    }

    /// The same step on another device of this task. Parts of the name left open are those of the step's device.
    fn step_on(&self, device: &str, step: &Arc<StepContext>) -> Result<Arc<StepContext>> {
        let here = DeviceSpec::parse(&step.device.name)?;
        let wanted = DeviceSpec::parse(device)?.or(here.clone());
        let task = |d: &DeviceSpec| (d.job.clone(), d.replica, d.task);
        if task(&wanted) != task(&here) {
            return Err(unimplemented(format_args!(
                "a call on '{device}' from '{here}': the device of another task must be named by a constant"
            )));
        }
        let Some(found) = self.devices.iter().find(|d| wanted.matches(&d.spec)) else {
            return Err(invalid!("there is no device '{device}' to call a function on"));
        };
        let mut on = StepContext::new(step.step_id, found.context.clone());
        on.functions = step.functions.clone();
        Ok(Arc::new(on.within(step)))
    }

    fn compiled(&self, f: &Func, step: &Arc<StepContext>) -> Result<Arc<Compiled>> {
        let key = format!("{}@{}{:?}", f.name, step.device.name, f.attrs);
        if let Some(found) = lock(&self.plans).get(&key) {
            return Ok(found.clone());
        }
        let body = self.library.instantiate(&self.registry, f)?;
        let feeds: Vec<_> = body.args.iter().map(|a| a.output(0)).collect();
        // Stateful nodes run even if no result needs them.
        let mut targets = body.control.clone();
        let args: HashSet<NodeId> = body.args.iter().copied().collect();
        targets.extend(body.graph.ids().filter(|id| body.graph.node(*id).op.stateful && !args.contains(id)));
        let kernels = self.kernels.of_function(&key);
        let plan = self.plan(&body.graph, (&feeds, &body.results, &targets), &kernels, step)?;
        let compiled = Arc::new(Compiled { plan, args: feeds.len() });
        let mut plans = lock(&self.plans);
        if plans.len() >= MAX_PLANS {
            plans.clear();
        }
        plans.insert(key, compiled.clone());
        Ok(compiled)
    }

    /// The plan of a graph on the step's device.
    fn plan(
        &self,
        graph: &Graph,
        (feeds, fetches, targets): (&[Output], &[Output], &[NodeId]),
        kernels: &KernelCache,
        step: &Arc<StepContext>,
    ) -> Result<Arc<Plan>> {
        let until = Until::of_step(step);
        let request = Request { feeds, fetches, targets, ..Request::new(graph, step.clone(), &until) };
        let target = Target {
            devices: &[Device::new(step.device.clone())?],
            is_remote: &|_| false,
            kernels,
            optimise: self.optimise,
            on_pool: true,
        };
        compile(&request, &target)?.single()
    }
}

impl Functions {
    fn compiled_for(&self, f: &Func, args: &[Tensor], step: &Arc<StepContext>) -> Result<Arc<Compiled>> {
        let compiled = self.compiled(f, step)?;
        if compiled.args != args.len() {
            return Err(invalid!(
                "function '{}' takes {} arguments, got {}",
                f.name,
                compiled.args,
                args.len()
            ));
        }
        Ok(compiled)
    }
}

impl FunctionRunner for Functions {
    fn call(&self, f: &Func, args: Vec<Tensor>, step: &Arc<StepContext>, done: OnResults) {
        match self.compiled_for(f, &args, step) {
            Ok(c) => executor::spawn(c.plan.clone(), RunInput { feeds: args, step: step.clone() }, done),
            Err(e) => done(Err(e)),
        }
    }

    fn call_on(&self, device: &str, f: &Func, args: Vec<Tensor>, step: &Arc<StepContext>, done: OnResults) {
        match self.step_on(device, step) {
            Ok(step) => self.call(f, args, &step, done),
            Err(e) => done(Err(e)),
        }
    }

    fn call_here(&self, f: &Func, args: Vec<Tensor>, step: &Arc<StepContext>, done: OnResults) {
        match self.compiled_for(f, &args, step) {
            // Straight plans call no functions: the stack does not grow with nesting.
            Ok(c) if matches!(&*c.plan, Plan::Straight(_)) => {
                done(executor::run(&c.plan, RunInput { feeds: args, step: step.clone() }))
            }
            Ok(c) => executor::spawn(c.plan.clone(), RunInput { feeds: args, step: step.clone() }, done),
            Err(e) => done(Err(e)),
        }
    }

    fn graph_def(&self, nodes: Vec<GraphNode>, names: Names) -> Result<SerializedGraph> {
        serialized::serialize(&self.registry, &self.library, nodes, names)
    }

    fn run_graph_def(&self, graph: &[u8], step: &Arc<StepContext>, done: OnResults) {
        match graph_def::prepare(self, graph, step) {
            Ok((plan, step)) => executor::spawn(plan, RunInput { feeds: Vec::new(), step }, done),
            Err(e) => done(Err(e)),
        }
    }
}
