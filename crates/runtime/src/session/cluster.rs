//! The interface of a session to the other tasks of a cluster.
//!
//! A session prunes, places, simplifies and partitions its graph in the same way whether its devices are all in this process or not. The
//! parts of other tasks are registered with them, and started there, through this interface.

use crate::device::Device;
use crate::trace::NodeTiming;
use std::sync::Arc;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::Result;
use thalweg_core::rendezvous::Rendezvous;
use thalweg_core::tensor::Tensor;
use thalweg_graph::NodeSpec;
use thalweg_graph::function::Library;

pub trait Cluster: Send + Sync {
    /// The task whose device this is, by number; `None` for our own.
    fn task_of(&self, device: &Device) -> Option<usize>;

    /// Registers a part of a graph with a task. Waits for the response.
    fn register(&self, task: usize, graph: TaskGraph) -> Result<Arc<dyn RegisteredPart>>;

    /// Begins a step: its id, unique in the cluster, and the rendezvous of its parts.
    fn begin_step(&self) -> (u64, Arc<dyn Rendezvous>);

    /// Ends a step: frees what it holds here and on the tasks that ran a part.
    fn end_step(&self, id: u64, tasks: &[usize]);
}

/// The part of a graph for one task: every node has a full device name, and feeds and fetches are Recvs and Sends.
pub struct TaskGraph {
    pub nodes: Vec<NodeSpec>,
    pub library: Library,
    /// The rendezvous keys of its feeds.
    pub feeds: Vec<String>,
    /// The rendezvous keys of its fetches.
    pub fetches: Vec<String>,
    /// Whether tensors may be dead.
    pub has_control_flow: bool,
}

/// A part of a graph registered with another task. Dropping it deregisters it.
pub trait RegisteredPart: Send + Sync {
    /// Starts it for a step. `done` is called once, also if the step is cancelled.
    fn start(&self, step: PartStep, done: OnPartDone);
}

/// The step that a part is started for.
pub struct PartStep {
    pub id: u64,
    /// In the order of the graph's feeds.
    pub feeds: Vec<Tensor>,
    pub cancel: Arc<Cancellation>,
    pub trace: bool,
}

/// The results of a part: its fetches in order and, if traced, when its nodes ran.
pub struct PartResult {
    pub values: Vec<Tensor>,
    pub timings: Vec<NodeTiming>,
}

pub type OnPartDone = Box<dyn FnOnce(Result<PartResult>) + Send>;
