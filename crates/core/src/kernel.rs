//! Kernels: the code of a node, and `OpCall`, the arguments of one call.

use crate::attr::Attrs;
use crate::dtype::{DataType, Element};
use crate::error::{Error, Result, internal};
use crate::invalid;
use crate::op::Op;
use crate::reserve;
use crate::resource::{Resource, ResourceHandle};
use crate::shape::Shape;
use crate::signature::{Port, Signature};
use crate::step::StepContext;
use crate::tensor::Tensor;
use crate::variable::Variable;
use smallvec::SmallVec;
use std::any::Any;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;
use thalweg_math::parallel::{Parallel, Serial};
use thalweg_math::scratch::NoMemory;

/// A value on an edge of the graph.
#[derive(Clone)]
pub enum Value {
    Tensor(Tensor),
    /// A reference variable, read on use.
    Ref(Arc<Variable>),
}

impl Value {
    /// The tensor, read now if it is a reference.
    pub fn into_tensor(self) -> Result<Tensor> {
        match self {
            Value::Tensor(t) => Ok(t),
            Value::Ref(v) => v.read(),
        }
    }
}

impl From<Tensor> for Value {
    fn from(t: Tensor) -> Value {
        Value::Tensor(t)
    }
}

/// An input of a kernel: borrowed while others need it, owned at its last use.
pub enum Input<'a> {
    Borrowed(&'a Tensor),
    Owned(Tensor),
    Ref(Arc<Variable>),
}

pub type Inputs<'a> = SmallVec<[Input<'a>; 3]>;
pub type Outputs = SmallVec<[Option<Value>; 2]>;

/// The static description of a node for its kernel.
#[derive(Clone)]
pub struct KernelNode {
    pub name: Arc<str>,
    pub op: &'static str,
    pub attrs: Attrs,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    /// Which inputs belong to which argument of the signature.
    pub args: Vec<Range<usize>>,
    pub device: Arc<str>,
    /// Call site that made the node.
    pub location: Option<&'static Location<'static>>,
}

impl KernelNode {
    /// For an op with a signature.
    pub fn new(
        op: &'static Op,
        signature: &Signature,
        name: Arc<str>,
        attrs: Attrs,
        device: Arc<str>,
    ) -> Result<KernelNode> {
        Ok(KernelNode {
            name,
            op: op.name,
            inputs: signature.input_ports(&attrs)?,
            outputs: signature.output_ports(&attrs)?,
            args: signature.input_ranges(&attrs)?,
            attrs,
            device,
            location: None,
        })
    }

    /// For a node made by a pass, without a signature.
    pub fn without_signature(
        op: &'static str,
        name: Arc<str>,
        inputs: Vec<Port>,
        outputs: Vec<Port>,
    ) -> KernelNode {
        let (attrs, args) = (Attrs::new(), Vec::new());
        KernelNode { name, op, attrs, inputs, outputs, args, device: "/device:CPU:0".into(), location: None }
    }
}

/// A kernel with parsed attrs. Runs on the calling thread and does not wait for other nodes.
pub trait Kernel: Send + Sync {
    fn compute(&self, c: &mut OpCall<'_>) -> Result<()>;
}

impl<F: Fn(&mut OpCall<'_>) -> Result<()> + Send + Sync> Kernel for F {
    fn compute(&self, c: &mut OpCall<'_>) -> Result<()> {
        self(c)
    }
}

/// A kernel that may wait (a queue, a receive, a function): returns at once and completes through `done`.
pub trait AsyncKernel: Send + Sync {
    fn start(&self, call: AsyncCall, done: Done);
}

pub type Done = Box<dyn FnOnce(Result<Outputs>) + Send>;

/// A call that outlives the stack frame that began it.
pub struct AsyncCall {
    pub inputs: SmallVec<[Value; 3]>,
    pub node: Arc<KernelNode>,
    pub step: Arc<StepContext>,
    pub frame_iter: (u64, u64),
    /// A dead Send or Recv still runs.
    pub is_dead: bool,
}

impl AsyncCall {
    pub fn tensor(&self, i: usize) -> Result<Tensor> {
        match self.inputs.get(i) {
            Some(v) => v.clone().into_tensor(),
            None => Err(internal(format_args!("no input {i}"))),
        }
    }

    /// The tensors from input `start` on.
    pub fn tensors(&self, start: usize) -> Result<Vec<Tensor>> {
        self.inputs.iter().skip(start).map(|v| v.clone().into_tensor()).collect()
    }

    /// The resource whose handle is input `i`.
    pub fn resource<R: Resource>(&self, i: usize) -> Result<Arc<R>> {
        resolve(&self.tensor(i)?, &self.step)
    }
}

/// Outputs of an async kernel from tensors.
pub fn outputs(tensors: impl IntoIterator<Item = Tensor>) -> Outputs {
    tensors.into_iter().map(|t| Some(Value::Tensor(t))).collect()
}

/// One call of a kernel.
pub struct OpCall<'a> {
    pub inputs: Inputs<'a>,
    pub outputs: Outputs,
    pub node: &'a KernelNode,
    pub step: &'a Arc<StepContext>,
    /// Which loop iteration this is: frame id and iteration number.
    pub frame_iter: (u64, u64),
    /// A dead Send still runs.
    pub is_dead: bool,
}

impl<'a> OpCall<'a> {
    #[inline]
    pub fn new(node: &'a KernelNode, step: &'a Arc<StepContext>, inputs: Inputs<'a>) -> Self {
        OpCall { inputs, outputs: SmallVec::new(), node, step, frame_iter: (0, 0), is_dead: false }
    }

    pub fn attrs(&self) -> &'a Attrs {
        &self.node.attrs
    }

    #[inline]
    pub fn input(&self, i: usize) -> Result<&Tensor> {
        match self.inputs.get(i) {
            Some(Input::Borrowed(t)) => Ok(t),
            Some(Input::Owned(t)) => Ok(t),
            Some(Input::Ref(_)) => {
                Err(internal(format_args!("input {i} is a reference; the op must ask for it as one")))
            }
            None => Err(internal(format_args!("no input {i}; the node has {}", self.inputs.len()))),
        }
    }

    /// The input by value: unique if this is its last use, else shared.
    #[inline]
    pub fn take(&mut self, i: usize) -> Result<Tensor> {
        match self.inputs.get_mut(i) {
            Some(Input::Owned(t)) => Ok(std::mem::replace(t, Tensor::scalar(0u8))),
            Some(Input::Borrowed(t)) => Ok(t.clone()),
            _ => Err(internal(format_args!("no tensor input {i}"))),
        }
    }

    #[inline]
    pub fn slice<T: Element>(&self, i: usize) -> Result<&[T]> {
        self.input(i)?.as_slice::<T>()
    }

    #[inline]
    pub fn shape(&self, i: usize) -> Result<&Shape> {
        Ok(self.input(i)?.shape())
    }

    /// An input that must be a scalar.
    pub fn scalar<T: Element>(&self, i: usize) -> Result<T> {
        let t = self.input(i)?;
        if !t.shape().is_scalar() {
            return Err(invalid!("{} must be a scalar, got shape {}", self.input_name(i), t.shape()));
        }
        t.to_scalar()
    }

    /// A scalar integer input of any integer type.
    pub fn scalar_int(&self, i: usize) -> Result<i64> {
        let t = self.input(i)?;
        match (t.shape().is_scalar(), t.to_i64s()?.as_slice()) {
            (true, [v]) => Ok(*v),
            _ => Err(invalid!("{} must be a scalar, got shape {}", self.input_name(i), t.shape())),
        }
    }

    /// A vector input of sizes, axes or indices, int32 or int64.
    pub fn int_vector(&self, i: usize) -> Result<Vec<i64>> {
        let t = self.input(i)?;
        if t.rank() != 1 {
            return Err(invalid!("{} must be a vector, got shape {}", self.input_name(i), t.shape()));
        }
        t.to_i64s()
    }

    /// The name of an input in error texts.
    pub fn input_name(&self, i: usize) -> String {
        format!("input {i} of {}", self.node.op)
    }

    pub fn reference(&self, i: usize) -> Result<&Arc<Variable>> {
        match self.inputs.get(i) {
            Some(Input::Ref(v)) => Ok(v),
            _ => Err(invalid!("{} must be a reference variable", self.input_name(i))),
        }
    }

    /// The resource whose handle is input `i`.
    pub fn resource<R: Resource>(&self, i: usize) -> Result<Arc<R>> {
        resolve(self.input(i)?, self.step)
    }

    pub fn handle(&self, i: usize) -> Result<&ResourceHandle> {
        match self.input(i)?.resources()? {
            [one] => Ok(one),
            _ => Err(invalid!("{} must be one resource handle", self.input_name(i))),
        }
    }

    /// Inputs that belong to argument `arg` of the signature.
    pub fn arg(&self, arg: usize) -> Range<usize> {
        self.node.args.get(arg).cloned().unwrap_or(0..0)
    }

    pub fn output_type(&self, i: usize) -> Result<DataType> {
        self.node.outputs.get(i).map(|p| p.dtype).ok_or_else(|| internal(format_args!("no output {i}")))
    }

    #[inline]
    pub fn set(&mut self, i: usize, value: impl Into<Value>) {
        let value = Some(value.into());
        if self.outputs.len() == i {
            // The usual case: outputs are set in order.
            self.outputs.push(value);
            return;
        }
        while self.outputs.len() <= i {
            self.outputs.push(None);
        }
        self.outputs[i] = value;
    }

    /// Takes input `i` if its buffer is unshared and fits an output of this type and shape.
    pub fn reuse(&mut self, i: usize, dtype: DataType, shape: &Shape) -> Option<Tensor> {
        match self.inputs.get_mut(i) {
            Some(Input::Owned(t)) if t.dtype() == dtype && t.shape() == shape && t.is_unique() => {
                Some(std::mem::replace(t, Tensor::scalar(0u8)))
            }
            _ => None,
        }
    }

    /// Parallel loops of the kernel.
    pub fn par(&self) -> &'a dyn Parallel {
        if self.step.serial { &Serial } else { &*self.step.device.pool }
    }

    /// The same error with this node's name.
    pub fn blame(&self, e: Error) -> Error {
        e.at_node(&self.node.name, self.node.op).at(self.node.location)
    }
}

/// The error for a panic caught around a kernel: loops unwind with `NoMemory` when scratch memory is exhausted; others are bugs.
pub fn caught(payload: &(dyn Any + Send)) -> Error {
    if let Some(none) = payload.downcast_ref::<NoMemory>() {
        return reserve::no_memory(none.bytes);
    }
    let text = payload
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned());
    internal(format_args!("the kernel panicked: {}", text.unwrap_or_else(|| "no message".into())))
}

fn resolve<R: Resource>(t: &Tensor, step: &StepContext) -> Result<Arc<R>> {
    match t.resources()? {
        [handle] => step.device.resources.resolve(handle),
        _ => Err(invalid!("needs one resource handle, got a tensor of shape {}", t.shape())),
    }
}
