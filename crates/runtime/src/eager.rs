//! Ops that run at once, without a graph: a kernel is made when an op is first called with these attrs and types of inputs, and kept.

use crate::device::Device;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use thalweg_core::attr::Attrs;
use thalweg_core::cancel::Cancellation;
use thalweg_core::direct;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, internal};
use thalweg_core::invalid;
use thalweg_core::kernel::KernelNode;
use thalweg_core::op::{Class, Op};
use thalweg_core::registry::Registry;
use thalweg_core::runnable::Runnable;
use thalweg_core::signature::infer_attrs;
use thalweg_core::step::StepContext;
use thalweg_core::sync::lock;
use thalweg_core::tensor::Tensor;

/// Kernels kept for one op and types of inputs: programs that call an op with ever new attrs start anew.
const MOST_ATTRS: usize = 64;

/// Outputs of more bytes are followed by a look at the memory budget.
const LARGE: usize = 1 << 16;

/// Runs ops on one device.
pub struct Eager {
    registry: Arc<Registry>,
    device: Device,
    /// The step of all ops that do not wait.
    step: Arc<StepContext>,
    kernels: Mutex<HashMap<Key, Vec<(Attrs, Arc<EagerOp>)>>>,
    made: AtomicU64,
}

/// An op by its place in the table, the number of tensors of each argument, and their types.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    op: &'static str,
    lens: SmallVec<[u32; 4]>,
    types: SmallVec<[i32; 4]>,
}

/// An op with its attrs and types, ready to run.
pub struct EagerOp {
    /// Unique.
    pub number: u64,
    pub op: &'static Op,
    /// With all attrs.
    pub node: Arc<KernelNode>,
    run: Runnable,
}

pub type Results = SmallVec<[Tensor; 1]>;

impl EagerOp {
    /// Whether its kernel may wait for other ops.
    pub fn may_wait(&self) -> bool {
        matches!(self.run, Runnable::Async(_))
    }
}

impl Eager {
    pub fn new(registry: Arc<Registry>, device: Device) -> Eager {
        let step = Arc::new(StepContext::new(0, device.context.clone()));
        Eager { registry, device, step, kernels: Mutex::default(), made: AtomicU64::new(1) }
    }

    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Forgets the kernels, and with them the state of random ops.
    pub fn clear(&self) {
        lock(&self.kernels).clear();
    }

    /// The op for inputs of these types: as many for each argument of its signature as `lens` says.
    pub fn op(
        &self,
        op: &'static Op,
        lens: &[u32],
        types: impl Iterator<Item = DataType>,
        attrs: &Attrs,
    ) -> Result<Arc<EagerOp>> {
        let key = Key { op: op.name, lens: lens.into(), types: types.map(DataType::wire).collect() };
        if let Some(known) = lock(&self.kernels).get(&key)
            && let Some((_, found)) = known.iter().find(|(given, _)| given == attrs)
        {
            return Ok(found.clone());
        }
        let made = Arc::new(self.make(op, &key, attrs).map_err(|e| e.at_node(op.name, op.name))?);
        if !makes_resource(&made) {
            let mut kernels = lock(&self.kernels);
            let known = kernels.entry(key).or_default();
            if known.len() >= MOST_ATTRS {
                known.clear();
            }
            known.push((attrs.clone(), made.clone()));
        }
        Ok(made)
    }

    fn make(&self, op: &'static Op, key: &Key, attrs: &Attrs) -> Result<EagerOp> {
        if op.class == Class::Placeholder {
            return Err(invalid!("a placeholder has no value: there is nothing to feed outside of a graph"));
        }
        if op.class.is_control_flow() || op.class == Class::LoopCond {
            return Err(invalid!("{} is a part of a loop or branch, and runs in graphs only", op.name));
        }
        let signature = self.registry.signature(op)?;
        let mut rest = key.types.iter().filter_map(|t| DataType::from_wire(*t));
        let given: Vec<Vec<DataType>> =
            key.lens.iter().map(|len| rest.by_ref().take(*len as usize).collect()).collect();
        let mut attrs = attrs.clone();
        infer_attrs(signature, &given, &mut attrs)?;
        signature.complete(&mut attrs)?;
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        // Resources without a name of their own are named after their node.
        let name = if op.stateful { format!("{}_{number}", op.name) } else { op.name.to_string() };
        let device = self.device.context.name.clone();
        let node = Arc::new(KernelNode::new(op, signature, name.into(), attrs, device)?);
        if node.inputs.iter().any(|port| port.is_ref) {
            return Err(invalid!("{} takes a reference variable, and runs in graphs only", op.name));
        }
        let run = Runnable::make(op, &node, "CPU")?;
        Ok(EagerOp { number, op, node, run })
    }

    /// Runs an op on the calling thread. One that waits can be cancelled.
    pub fn run(
        &self,
        op: &EagerOp,
        inputs: Vec<Tensor>,
        cancel: Option<Arc<Cancellation>>,
    ) -> Result<Results> {
        let _charged = self.device.context.memory.enter();
        let given = inputs.len();
        if given != op.node.inputs.len() {
            return Err(invalid!("{} takes {} inputs, got {given}", op.op.name, op.node.inputs.len()));
        }
        let outputs = match cancel {
            None if !op.may_wait() => direct::run(&op.run, &op.node, &self.step, inputs)?,
            cancel => {
                let mut step = StepContext::new(op.number, self.device.context.clone());
                step.cancel = cancel.unwrap_or_default();
                direct::run(&op.run, &op.node, &Arc::new(step), inputs)?
            }
        };
        let mut results = Results::with_capacity(op.node.outputs.len());
        for (i, output) in outputs.into_iter().take(op.node.outputs.len()).enumerate() {
            let value =
                output.ok_or_else(|| internal(format_args!("{} did not set output {i}", op.op.name)))?;
            results.push(value.into_tensor()?);
        }
        if results.len() < op.node.outputs.len() {
            return Err(internal(format_args!("{} did not set all its outputs", op.op.name)));
        }
        if results.iter().any(|t| t.byte_len() > LARGE) {
            self.device.context.memory.check()?;
        }
        Ok(results)
    }
}

/// Whether each call makes something new: a queue, a table, an iterator.
fn makes_resource(op: &EagerOp) -> bool {
    let is_handle = |t: DataType| t == DataType::Resource;
    op.op.stateful
        && op.node.outputs.iter().any(|p| is_handle(p.dtype))
        && !op.node.inputs.iter().any(|p| is_handle(p.dtype))
}
