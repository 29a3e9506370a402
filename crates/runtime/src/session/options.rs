//! The options of a session and of a run, and the metadata of a run.

use crate::device::Device;
use crate::trace::StepTimings;
use std::sync::Arc;
use std::time::Duration;
use thalweg_core::access::Access;
use thalweg_core::cancel::Cancellation;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_core::memory::Holder;
use thalweg_core::resource::ResourceStore;
use thalweg_core::step::DeviceContext;
use thalweg_math::isa;
use thalweg_math::pool::Pool;

#[derive(Clone)]
pub struct SessionOptions {
    /// Number of CPU devices.
    pub cpu_devices: usize,
    /// Threads for kernels, the caller included; 0: one for each core.
    pub threads: usize,
    /// Whether plans are optimised. Results are the same either way.
    pub optimise: bool,
    /// Nodes that ask for a device that does not exist run on another instead of failing.
    pub soft_placement: bool,
    pub log_device_placement: bool,
    /// Timeout of runs that set none.
    pub operation_timeout: Option<Duration>,
    /// Whether placeholders may be fed values of other shapes than they declare, as TensorFlow's C API has it; its clients in Python check
    /// feeds themselves.
    pub any_feed_shape: bool,
    /// Where ops such as Print write; standard error if not set.
    pub print: Option<Arc<dyn Fn(&str) + Send + Sync>>,
    /// Which files graphs may access.
    pub access: Arc<Access>,
    /// The job and task that devices are named after.
    pub job: String,
    pub task: u32,
    /// Bytes that a device prefetches from others.
    pub receive_ahead: u64,
}

impl Default for SessionOptions {
    fn default() -> Self {
        SessionOptions {
            cpu_devices: 1,
            threads: 0,
            optimise: true,
            soft_placement: false,
            log_device_placement: false,
            operation_timeout: None,
            any_feed_shape: false,
            print: None,
            access: Arc::default(),
            job: "localhost".into(),
            task: 0,
            // Far more than a connection buffers, so that transfers do not slow down.
            receive_ahead: 128 << 20,
        }
    }
}

/// More devices or threads than this are rejected.
const MAX_DEVICES: usize = 256;
const MAX_THREADS: usize = 1024;

impl SessionOptions {
    /// Validates the number of devices and threads, and the instruction set that kernels may use.
    pub fn check_devices(&self) -> Result<()> {
        isa::limit()?;
        if self.cpu_devices == 0 || self.cpu_devices > MAX_DEVICES {
            return Err(invalid!(
                "a session has 1 to {MAX_DEVICES} CPU devices, asked for {}",
                self.cpu_devices
            ));
        }
        if self.threads > MAX_THREADS {
            return Err(invalid!("a session has at most {MAX_THREADS} threads, asked for {}", self.threads));
        }
        Ok(())
    }

    /// The devices of a process with these options.
    pub fn make_devices(&self) -> Result<Vec<Device>> {
        self.check_devices()?;
        let threads = match self.threads {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        };
        let pool = Pool::new(threads)?;
        let print = self.print.clone().unwrap_or_else(|| Arc::new(|text| eprint!("{text}")));
        let memory = Arc::new(Holder::new());
        (0..self.cpu_devices)
            .map(|i| {
                Device::new(Arc::new(DeviceContext {
                    name: format!("/job:{}/replica:0/task:{}/device:CPU:{i}", self.job, self.task).into(),
                    incarnation: entropy() | 1,
                    pool: pool.clone(),
                    resources: Arc::new(ResourceStore::new(&self.job)),
                    memory: memory.clone(),
                    entropy: Arc::new(entropy),
                    print: print.clone(),
                    access: self.access.clone(),
                }))
            })
            .collect()
    }
}

/// Random bits, different in each call and process.
fn entropy() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut h = std::hash::RandomState::new().build_hasher();
    h.write_u128(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos(),
    );
    h.finish()
}

/// Options of one run.
#[derive(Clone, Default)]
pub struct RunOptions {
    pub timeout: Option<Duration>,
    /// Record when each node ran.
    pub trace: bool,
    /// Lets the caller cancel the run from another thread, together with all runs that share it. A run that fails does not cancel it.
    pub cancel: Option<Arc<Cancellation>>,
    /// Kernels use one thread each: less total work, for steps that run beside others.
    pub serial: bool,
}

impl RunOptions {
    /// With the timeout reduced by the time that compiling took.
    pub fn after(&self, time: Duration) -> RunOptions {
        RunOptions { timeout: self.timeout.map(|limit| limit.saturating_sub(time)), ..self.clone() }
    }
}

/// Metadata of a run.
#[derive(Clone, Debug, Default)]
pub struct RunMetadata {
    /// The id of the step.
    pub step: u64,
    pub timings: StepTimings,
    /// How many nodes the plan has on each device.
    pub planned_nodes: Vec<(String, usize)>,
}
