//! `Session`: a graph with its devices and state, run many times, from many threads at once.

mod callable;
pub mod cluster;
mod compile;
mod feeds;
mod options;
mod partial;
mod partition_graphs;
mod plan_cache;
mod run;
mod shape_specialised;

pub use callable::Callable;
pub use options::{RunMetadata, RunOptions, SessionOptions};
pub use partial::{OnFetched, PartialRun};
pub use partition_graphs::PartitionGraph;
pub use run::OnDone;

use crate::device::Device;
use crate::functions::Functions;
use crate::placer::Placement;
use crate::plan::KernelCache;
use cluster::Cluster;
use plan_cache::PlanCache;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::{Result, cancelled};
use thalweg_core::memory::{self, Held, Holder, Meter};
use thalweg_core::registry::Registry;
use thalweg_core::sync::lock;
use thalweg_graph::Graph;

/// A running graph. Clones share everything.
#[derive(Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    options: SessionOptions,
    graph: RwLock<Placed>,
    /// Serialises changes of the graph.
    changing: Mutex<()>,
    /// The other tasks that some of the devices belong to.
    cluster: Option<Arc<dyn Cluster>>,
    kernels: Arc<KernelCache>,
    plans: Mutex<PlanCache>,
    next_step: AtomicU64,
    /// Running steps, to be cancelled when the session closes.
    running: Mutex<HashMap<u64, Arc<Cancellation>>>,
    closed: AtomicBool,
    /// Cancels compilations when the session closes.
    closing: Cancellation,
    /// The memory of the graph.
    graph_held: Mutex<Held>,
    /// Dropped last: the memory of all other fields is free by then, and can be returned to the system.
    devices: Vec<Device>,
}

/// The graph with its placement and its functions.
pub(crate) struct Placed {
    graph: Graph,
    placement: Placement,
    functions: Arc<Functions>,
}

impl Session {
    /// A session over an empty graph, with devices of its own.
    pub fn new(registry: Arc<Registry>, options: SessionOptions) -> Result<Session> {
        let devices = options.make_devices()?;
        Session::with_devices(registry, options, devices)
    }

    /// A session on devices that may be shared with others.
    pub fn with_devices(
        registry: Arc<Registry>,
        options: SessionOptions,
        devices: Vec<Device>,
    ) -> Result<Session> {
        Session::in_cluster(registry, options, devices, None)
    }

    /// A session on devices some of which belong to other tasks. The first is of this process.
    pub fn in_cluster(
        registry: Arc<Registry>,
        options: SessionOptions,
        devices: Vec<Device>,
        cluster: Option<Arc<dyn Cluster>>,
    ) -> Result<Session> {
        let kernels = Arc::new(KernelCache::default());
        let (library, optimise) = (Default::default(), options.optimise);
        let functions =
            Arc::new(Functions::new(registry.clone(), library, kernels.clone(), optimise, &devices));
        let placed = Placed { graph: Graph::new(registry), placement: Placement::default(), functions };
        let inner = Inner {
            options,
            graph: RwLock::new(placed),
            changing: Mutex::default(),
            cluster,
            kernels,
            plans: Mutex::default(),
            next_step: AtomicU64::new(1),
            running: Mutex::default(),
            closed: AtomicBool::new(false),
            closing: Cancellation::default(),
            graph_held: Mutex::new(devices.first().map(|d| d.context.memory.hold(0)).unwrap_or_default()),
            devices,
        };
        Ok(Session { inner: Arc::new(inner) })
    }

    /// A session that runs a graph.
    pub fn of(graph: &Graph, options: SessionOptions) -> Result<Session> {
        let session = Session::new(graph.registry.clone(), options)?;
        session.extend(graph)?;
        Ok(session)
    }

    /// Replaces the session's graph by an extended one. Running steps are not affected, and plans stay valid.
    pub fn extend(&self, graph: &Graph) -> Result<()> {
        self.change(|mine| {
            *mine = graph.clone();
            Ok(())
        })
    }

    /// Adds the nodes of a GraphDef to the session's graph.
    pub fn extend_with(&self, add: impl FnOnce(&mut Graph) -> Result<()>) -> Result<()> {
        self.change(add)
    }

    fn change(&self, change: impl FnOnce(&mut Graph) -> Result<()>) -> Result<()> {
        self.inner.check_open()?;
        // Steps look up names while the graph is extended: the write lock is held only to swap it in.
        let _changing = lock(&self.inner.changing);
        let (_charged, meter) = (self.inner.memory().enter(), Meter::start());
        let (mut graph, mut placement) = {
            let placed = self.inner.graph.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            memory::check(placed.graph.len().saturating_mul(thalweg_graph::NODE_BYTES))?;
            (placed.graph.clone(), placed.placement.clone())
        };
        let before = graph.len();
        change(&mut graph)?;
        placement.extend(&graph, &self.inner.devices, self.inner.options.soft_placement)?;
        if self.inner.options.log_device_placement {
            for id in graph.ids().skip(before) {
                let (node, device) = (graph.node(id), &self.inner.devices[placement.of(id) as usize]);
                (device.context.print)(&format!("{}: ({}): {}\n", node.name, node.op.name, device.name()));
            }
        }
        let functions = Functions::new(
            graph.registry.clone(),
            graph.library.clone(),
            self.inner.kernels.clone(),
            self.inner.options.optimise,
            &self.inner.devices,
        );
        let placed = Placed { graph, placement, functions: Arc::new(functions) };
        *self.inner.graph.write().unwrap_or_else(std::sync::PoisonError::into_inner) = placed;
        lock(&self.inner.graph_held).grow(meter.grown());
        Ok(())
    }

    /// Reads the session's graph.
    pub fn with_graph<R>(&self, read: impl FnOnce(&Graph) -> R) -> R {
        read(&self.inner.graph.read().unwrap_or_else(std::sync::PoisonError::into_inner).graph)
    }

    /// The device that a node of the graph was placed on.
    pub fn device_of(&self, node: &str) -> Option<&str> {
        let placed = self.inner.graph.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let number = placed.placement.of(placed.graph.find(node)?);
        self.inner.devices.get(usize::from(number)).map(Device::name)
    }

    pub fn devices(&self) -> &[Device] {
        &self.inner.devices
    }

    /// Ends the session: running steps are cancelled, later ones rejected.
    pub fn close(&self) {
        self.inner.closed.store(true, Ordering::Release);
        let running: Vec<_> = lock(&self.inner.running).drain().map(|(_, c)| c).collect();
        let reason = cancelled("Step was cancelled by an explicit call to `Session::Close()`.");
        running.iter().for_each(|step| step.cancel(reason.clone()));
        self.inner.closing.cancel(reason);
    }

    /// Drops the state in these containers; in the default one if none is named.
    pub fn reset(&self, containers: &[String]) {
        for device in &self.inner.devices {
            device.context.resources.clear(containers);
        }
    }
}

impl Drop for Inner {
    /// Frees the resources of the session's devices, and ends what prefetches for them.
    fn drop(&mut self) {
        for device in &self.devices {
            device.context.resources.end();
        }
    }
}

impl Inner {
    /// The holder that its memory is charged to. The first device is always of this process.
    fn memory(&self) -> &Holder {
        &self.devices[0].context.memory
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(cancelled("Session has been closed.")) } else { Ok(()) }
    }
}
