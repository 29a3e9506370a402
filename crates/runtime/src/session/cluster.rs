//! The other tasks of a cluster, as a session sees them.
//!
//! A session prunes, places, simplifies and partitions its graph alike whether its devices are all in this process or not. What
//! belongs to other tasks is registered with them, and started there, through this interface.

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

    /// Gives a task its part of a graph. Waits for the answer.
    fn register(&self, task: usize, graph: TaskGraph) -> Result<Arc<dyn RegisteredPart>>;

    /// A step begins: its number in the whole cluster, and where its parts meet.
    fn begin_step(&self) -> (u64, Arc<dyn Rendezvous>);

    /// A step has ended: nothing of it is needed any more, here and on the tasks that took part.
    fn end_step(&self, id: u64, tasks: &[usize]);
}

/// The part of a graph for one task: every node has its full device name, and all ends are Sends and Recvs.
pub struct TaskGraph {
    pub nodes: Vec<NodeSpec>,
    pub library: Library,
    /// The rendezvous keys under which it expects what is fed.
    pub feeds: Vec<String>,
    /// The rendezvous keys under which it gives what is fetched.
    pub fetches: Vec<String>,
    /// Whether values may be dead.
    pub has_control_flow: bool,
}

/// A part of a graph that another task keeps ready. Dropping it lets the task forget it.
pub trait RegisteredPart: Send + Sync {
    /// Starts it for a step. `done` is called once, also if the step is cancelled.
    fn start(&self, step: PartStep, done: OnPartDone);
}

/// What a part is started with.
pub struct PartStep {
    pub id: u64,
    /// In the order of the graph's feeds.
    pub feeds: Vec<Tensor>,
    pub cancel: Arc<Cancellation>,
    pub trace: bool,
}

/// What a part answers: its fetches in order and, if traced, when its nodes ran.
pub struct PartResult {
    pub values: Vec<Tensor>,
    pub timings: Vec<NodeTiming>,
}

pub type OnPartDone = Box<dyn FnOnce(Result<PartResult>) + Send>;
