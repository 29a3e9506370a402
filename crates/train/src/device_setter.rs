//! `ReplicaDeviceSetter`: variables on the parameter servers, everything else on the worker.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use thalweg_client::{ClusterSpec, DeviceSpec, NewNode};

/// Ops with state that workers share.
const PS_OPS: [&str; 14] = [
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
    "BoostedTreesEnsembleResourceHandleOp",
    "BoostedTreesQuantileStreamResourceHandleOp",
    "ResourceConditionalAccumulator",
    "DecisionTreeResource",
];

/// Chooses the `ps` task of a node.
pub trait PsStrategy: Send + Sync {
    /// The task index.
    fn task(&self, node: &NewNode<'_>) -> u32;
}

/// Round-robin over the tasks.
pub struct RoundRobin {
    tasks: u32,
    next: AtomicUsize,
}

impl RoundRobin {
    /// Over so many tasks.
    pub fn new(tasks: u32) -> RoundRobin {
        RoundRobin { tasks, next: AtomicUsize::new(0) }
    }
}

impl PsStrategy for RoundRobin {
    fn task(&self, _: &NewNode<'_>) -> u32 {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) as u64;
        u32::try_from(turn % u64::from(self.tasks.max(1))).unwrap_or(0)
    }
}

/// The load that a node puts on its task.
pub type Load = fn(&NewNode<'_>) -> f64;

/// To the task that has the least load so far; of equals, the first.
pub struct GreedyLoadBalancing {
    loads: Mutex<Vec<f64>>,
    load: Load,
}

impl GreedyLoadBalancing {
    /// Over so many tasks, with the load of each node.
    pub fn new(tasks: u32, load: Load) -> GreedyLoadBalancing {
        GreedyLoadBalancing { loads: Mutex::new(vec![0.0; tasks.max(1) as usize]), load }
    }
}

impl PsStrategy for GreedyLoadBalancing {
    fn task(&self, node: &NewNode<'_>) -> u32 {
        let mut loads = self.loads.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let least = loads.iter_mut().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        let Some((task, load)) = least else { return 0 };
        *load += (self.load)(node);
        task as u32
    }
}

/// The bytes that a variable takes; nothing where its shape is not known.
pub fn byte_size_load(node: &NewNode<'_>) -> f64 {
    let (dtype, shape) = (node.attrs.dtype("dtype"), node.attrs.shape("shape"));
    let elements = shape.ok().and_then(|s| s.elements()).unwrap_or(0);
    dtype.map_or(0, |t| t.size()) as f64 * elements as f64
}

/// Places each node of a worker's graph, as `tf.train.replica_device_setter` does.
///
/// ```
/// use thalweg_client::Scope;
/// use thalweg_train::ReplicaDeviceSetter;
///
/// let setter = ReplicaDeviceSetter::new(2).worker_device("/job:worker/task:1");
/// let g = Scope::new().device_function(setter.device_function());
/// let a = g.variable("a", &g.constant(1f32));
/// let b = g.variable("b", &g.constant(2f32));
/// assert_eq!(a.handle.op().device(), "/job:ps/task:0");
/// assert_eq!(b.handle.op().device(), "/job:ps/task:1");
/// assert_eq!(g.add(&a.value, &b.value).op().device(), "/job:worker/task:1");
/// ```
pub struct ReplicaDeviceSetter {
    ps_tasks: u32,
    ps_device: String,
    worker_device: String,
    merge_devices: bool,
    ps_ops: Vec<String>,
    strategy: Option<Box<dyn PsStrategy>>,
}

impl ReplicaDeviceSetter {
    /// For so many parameter servers; with none, nodes keep their devices.
    pub fn new(ps_tasks: u32) -> ReplicaDeviceSetter {
        ReplicaDeviceSetter {
            ps_tasks,
            ps_device: "/job:ps".into(),
            worker_device: "/job:worker".into(),
            merge_devices: true,
            ps_ops: PS_OPS.map(String::from).to_vec(),
            strategy: None,
        }
    }

    /// For the parameter servers of a cluster: the tasks of its job `ps`.
    pub fn for_cluster(cluster: &ClusterSpec) -> ReplicaDeviceSetter {
        let tasks = cluster.jobs.get("ps").map_or(0, |tasks| tasks.len());
        ReplicaDeviceSetter::new(u32::try_from(tasks).unwrap_or(u32::MAX))
    }

    /// The device of everything else: `/job:worker` by default.
    pub fn worker_device(mut self, device: &str) -> Self {
        self.worker_device = device.to_string();
        self
    }

    /// The device of the parameter servers, without the task: `/job:ps` by default.
    pub fn ps_device(mut self, device: &str) -> Self {
        self.ps_device = device.to_string();
        self
    }

    /// Whether a partial device is merged with the one chosen here (the default), or left as it is.
    pub fn merge_devices(mut self, merge: bool) -> Self {
        self.merge_devices = merge;
        self
    }

    /// The op types that go to the parameter servers, instead of the default ones.
    pub fn ps_ops(mut self, ops: &[&str]) -> Self {
        self.ps_ops = ops.iter().map(|op| op.to_string()).collect();
        self
    }

    /// The placement strategy of variables, instead of round-robin.
    pub fn strategy(mut self, strategy: impl PsStrategy + 'static) -> Self {
        self.strategy = Some(Box::new(strategy));
        self
    }

    /// By size: the next variable goes to the parameter server that holds the fewest bytes.
    pub fn greedy(self) -> Self {
        let tasks = self.ps_tasks;
        self.strategy(GreedyLoadBalancing::new(tasks, byte_size_load))
    }

    /// The function for [`thalweg_client::Scope::device_function`].
    pub fn device_function(mut self) -> impl Fn(&NewNode<'_>) -> String + Send + Sync + 'static {
        let strategy = self.strategy.take().unwrap_or_else(|| Box::new(RoundRobin::new(self.ps_tasks)));
        move |node| self.choose(&*strategy, node)
    }

    fn choose(&self, strategy: &dyn PsStrategy, node: &NewNode<'_>) -> String {
        let given = || node.device.to_string();
        if self.ps_tasks == 0 || !self.merge_devices && !node.device.is_empty() {
            return given();
        }
        let on_ps = !self.ps_device.is_empty() && self.ps_ops.iter().any(|op| op == node.op);
        let device = if on_ps { &self.ps_device } else { &self.worker_device };
        // A device name that does not parse is an error at placement.
        let (Ok(current), Ok(mut chosen)) = (DeviceSpec::parse(node.device), DeviceSpec::parse(device))
        else {
            return given();
        };
        let same_job = current.job.is_none() || current.job == chosen.job;
        if on_ps && chosen.job.is_some() && same_job {
            chosen.task = Some(strategy.task(node));
        }
        current.or(chosen).to_string()
    }
}
