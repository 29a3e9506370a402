//! `DeviceContext`: the environment of a device's kernels; `StepContext`: that of one step.

use crate::access::Access;
use crate::attr::{Attrs, Func};
use crate::cancel::Cancellation;
use crate::dtype::DataType;
use crate::error::{Error, Result, deadline_exceeded, unimplemented};
use crate::kernel::KernelNode;
use crate::memory::Holder;
use crate::rendezvous::{LocalRendezvous, Rendezvous};
use crate::resource::ResourceStore;
use crate::shape::Shape;
use crate::tensor::Tensor;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use thalweg_math::pool::Pool;

pub struct DeviceContext {
    /// `/job:localhost/replica:0/task:0/device:CPU:0`.
    pub name: Arc<str>,
    pub incarnation: u64,
    pub pool: Arc<Pool>,
    pub resources: Arc<ResourceStore>,
    /// The session, to which the memory of its steps is charged.
    pub memory: Arc<Holder>,
    /// Seeds for unseeded random ops.
    pub entropy: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// Where Print and similar ops write.
    pub print: Arc<dyn Fn(&str) + Send + Sync>,
    /// Files that kernels may access.
    pub access: Arc<Access>,
}

/// Runs functions of the graph's library from inside kernels (a dataset's map function, a call that was not inlined).
pub trait FunctionRunner: Send + Sync {
    fn call(&self, f: &Func, args: Vec<Tensor>, step: &Arc<StepContext>, done: OnResults);

    /// As `call`, but a function that never waits may run on the calling thread and complete at once.
    fn call_here(&self, f: &Func, args: Vec<Tensor>, step: &Arc<StepContext>, done: OnResults) {
        self.call(f, args, step, done);
    }

    /// Calls a function on another device of this task, which may be named in part.
    fn call_on(&self, device: &str, f: &Func, _: Vec<Tensor>, _: &Arc<StepContext>, done: OnResults) {
        done(Err(unimplemented(format_args!("no device '{device}' to call '{}' on", f.name))));
    }

    /// A GraphDef of these nodes and of the functions that they use.
    fn graph_def(&self, _: Vec<GraphNode>, _: Names) -> Result<SerializedGraph> {
        Err(unimplemented("no function library to write a graph with"))
    }

    /// Runs a serialised GraphDef, with its own functions, for the inputs of its `_Retval` nodes.
    fn run_graph_def(&self, _: &[u8], _: &Arc<StepContext>, done: OnResults) {
        done(Err(unimplemented("no function library to run a graph with")));
    }
}

/// A node of a graph that a kernel writes; inputs by name, as in a NodeDef.
pub struct GraphNode {
    pub name: String,
    pub op: &'static str,
    pub inputs: Vec<String>,
    pub attrs: Attrs,
}

/// Which names the functions of a serialised graph have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    Given,
    /// By number, and without `metadata`: the same for graphs that compute the same.
    Canonical,
}

pub struct SerializedGraph {
    pub graph_def: Vec<u8>,
    /// The stateful ops of nodes in its functions.
    pub stateful: Vec<String>,
}

/// An output of a node that ran.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedOutput {
    pub slot: usize,
    pub dtype: DataType,
    pub shape: Shape,
    pub bytes: usize,
    /// The node allocated its memory; else it is an input's or a variable's.
    pub allocated: bool,
}

/// Called with every node that ran, when a step is traced.
pub trait Trace: Send + Sync {
    fn ran(&self, node: &KernelNode, start: Instant, end: Instant, outputs: Vec<TracedOutput>);
    /// A constant of the graph that the step uses: nothing runs for it.
    fn has_constant(&self, name: &Arc<str>, device: &Arc<str>);
}

pub type OnResults = Box<dyn FnOnce(Result<Vec<Tensor>>) + Send>;

pub struct StepContext {
    pub step_id: u64,
    pub device: Arc<DeviceContext>,
    pub cancel: Arc<Cancellation>,
    pub rendezvous: Arc<dyn Rendezvous>,
    pub functions: Option<Arc<dyn FunctionRunner>>,
    /// The step's deadline.
    pub deadline: Option<Instant>,
    pub trace: Option<Arc<dyn Trace>>,
    /// Loops inside kernels run on the kernel's thread only: other steps use the rest.
    pub serial: bool,
    /// Per-step resources: tensor arrays, stacks. Created on first use.
    scratch: OnceLock<ResourceStore>,
    names: AtomicU64,
}

impl StepContext {
    pub fn new(step_id: u64, device: Arc<DeviceContext>) -> Self {
        StepContext {
            step_id,
            device,
            cancel: Arc::default(),
            rendezvous: Arc::new(LocalRendezvous::default()),
            functions: None,
            deadline: None,
            trace: None,
            serial: false,
            scratch: OnceLock::new(),
            names: AtomicU64::new(0),
        }
    }

    /// Ends, meets others and is traced with another step, of which it is a part.
    pub fn within(mut self, step: &StepContext) -> Self {
        self.cancel = step.cancel.clone();
        self.rendezvous = step.rendezvous.clone();
        self.deadline = step.deadline;
        self.trace = step.trace.clone();
        self.serial = step.serial;
        self
    }

    /// An error if the step is cancelled, past its deadline or its session over its memory budget. Long computations call it
    /// periodically.
    pub fn check(&self) -> Result<()> {
        if let Some(reason) = self.cancel.reason() {
            return Err(reason);
        }
        match self.deadline {
            Some(d) if Instant::now() >= d => {
                Err(deadline_exceeded("the step did not end within its time limit"))
            }
            _ => self.device.memory.check(),
        }
    }

    /// Per-step resources.
    pub fn scratch(&self) -> &ResourceStore {
        self.scratch.get_or_init(|| ResourceStore::new("_step"))
    }

    /// A number unique in this step, for names of scratch resources.
    pub fn fresh(&self) -> u64 {
        self.names.fetch_add(1, Ordering::Relaxed)
    }

    pub fn call(self: &Arc<Self>, f: &Func, args: Vec<Tensor>, done: OnResults) {
        match &self.functions {
            Some(runner) => runner.call(f, args, self, done),
            None => done(Err(no_library(f))),
        }
    }

    /// See [`FunctionRunner::call_on`].
    pub fn call_on(self: &Arc<Self>, device: &str, f: &Func, args: Vec<Tensor>, done: OnResults) {
        match &self.functions {
            Some(runner) => runner.call_on(device, f, args, self, done),
            None => done(Err(no_library(f))),
        }
    }

    /// See [`FunctionRunner::call_here`].
    pub fn call_here(self: &Arc<Self>, f: &Func, args: Vec<Tensor>, done: OnResults) {
        match &self.functions {
            Some(runner) => runner.call_here(f, args, self, done),
            None => done(Err(no_library(f))),
        }
    }
}

fn no_library(f: &Func) -> Error {
    unimplemented(format_args!("no function library to call '{}' from", f.name))
}
