//! Running a straight plan: one node after the other on the calling thread. Kernels may use the pool inside.

use super::cost::{self, CHECK_EVERY};
use super::traced::{Traced, tensors};
use super::{RunInput, numbers};
use crate::plan::{Operand, Straight, StraightNode};
use smallvec::SmallVec;
use std::sync::Arc;
use thalweg_core::error::{Code, Error, Result, internal};
use thalweg_core::kernel::{Input, KernelNode, OpCall, Value};
use thalweg_core::reserve;
use thalweg_core::runnable::Runnable;
use thalweg_core::step::StepContext;
use thalweg_core::tensor::Tensor;

type Slots = Vec<Option<Value>>;

impl Straight {
    pub fn run(&self, mut input: RunInput) -> Result<Vec<Tensor>> {
        let _charged = input.step.device.memory.enter();
        let mut slots: Slots = reserve::with_capacity(self.slots)?;
        slots.resize_with(self.slots, || None);
        for (slot, value) in self.feeds.iter().zip(input.feeds.drain(..)) {
            if let Some(place) = slot.and_then(|s| slots.get_mut(s as usize)) {
                *place = Some(Value::Tensor(value));
            }
        }
        input.step.check()?;
        run_nodes(&self.nodes, &self.constants, &mut slots, &input.step)?;
        self.results(&mut slots)
    }

    fn results(&self, slots: &mut Slots) -> Result<Vec<Tensor>> {
        self.fetches
            .iter()
            .map(|f| match *f {
                Operand::Constant(c) => self.constants[c as usize].clone().into_tensor(),
                Operand::Take(s) => taken(slots[s as usize].take()),
                Operand::Keep(s) => taken(slots.get(s as usize).cloned().flatten()),
            })
            .collect()
    }
}

/// Runs nodes in order, and traces them if the step is traced. Checks the step's deadline and cancellation periodically;
/// the caller has checked them before the first node.
pub fn run_nodes(
    nodes: &[StraightNode],
    constants: &[Value],
    slots: &mut [Option<Value>],
    step: &Arc<StepContext>,
) -> Result<()> {
    let mut left = CHECK_EVERY;
    for node in nodes {
        left -= match step.trace {
            None => run_node(node, constants, slots, step)?,
            Some(_) => run_traced(node, constants, slots, step)?,
        };
        if left <= 0 {
            left = CHECK_EVERY;
            step.check().map_err(|e| over_budget_at(&node.compute.node, e))?;
        }
    }
    Ok(())
}

/// As `run_node`, and records it.
#[cold]
fn run_traced(
    node: &StraightNode,
    constants: &[Value],
    slots: &mut [Option<Value>],
    step: &Arc<StepContext>,
) -> Result<isize> {
    let traced = Traced::start(step, input_tensors(node, constants, slots));
    let cost = run_node(node, constants, slots, step)?;
    if let Some(traced) = traced {
        let output = |(i, slot): (usize, &u32)| Some((i, slots.get(*slot as usize)?.as_ref()?));
        traced.end(&node.compute.node, node.outputs.iter().enumerate().filter_map(output));
    }
    Ok(cost)
}

/// The inputs of a node before it runs, for a trace.
fn input_tensors<'a>(
    node: &'a StraightNode,
    constants: &'a [Value],
    slots: &'a [Option<Value>],
) -> impl Iterator<Item = &'a Tensor> {
    let value = |operand: &Operand| match *operand {
        Operand::Constant(c) => constants.get(c as usize),
        Operand::Take(s) | Operand::Keep(s) => slots.get(s as usize).and_then(Option::as_ref),
    };
    tensors(node.inputs.iter().filter_map(value))
}

/// An exceeded memory budget names the node that ran; a deadline does not.
pub fn over_budget_at(node: &KernelNode, e: Error) -> Error {
    match e.code() {
        Code::ResourceExhausted => e.at_node(&node.name, node.op).at(node.location),
        _ => e,
    }
}

/// Runs a node, and returns its cost.
#[inline]
fn run_node(
    node: &StraightNode,
    constants: &[Value],
    slots: &mut [Option<Value>],
    step: &Arc<StepContext>,
) -> Result<isize> {
    if let Some(tile) = node.on_numbers
        && numbers::run(tile, node, constants, slots)
    {
        return Ok(1);
    }
    if step.cancel.is_cancelled() {
        step.check()?;
    }
    let compute = &node.compute;
    // A new call for each node: reusing one measured slower.
    let mut call = OpCall::new(&compute.node, step, SmallVec::new());
    if node.inputs.len() > call.inputs.inline_size() {
        call.inputs.reserve_exact(node.inputs.len());
    }
    for operand in &node.inputs {
        call.inputs.push(match *operand {
            Operand::Constant(c) => match &constants[c as usize] {
                Value::Tensor(t) => Input::Borrowed(t),
                Value::Ref(v) => Input::Ref(v.clone()),
            },
            Operand::Take(s) => match slots[s as usize].take() {
                Some(Value::Tensor(t)) => Input::Owned(t),
                Some(Value::Ref(v)) => Input::Ref(v),
                None => return Err(missing()),
            },
            Operand::Keep(s) => match slots.get(s as usize) {
                Some(Some(Value::Tensor(t))) => Input::Owned(t.clone()),
                Some(Some(Value::Ref(v))) => Input::Ref(v.clone()),
                _ => return Err(missing()),
            },
        });
    }
    if node.has_references {
        read_references(&mut call)?;
    }
    let result = match &compute.run {
        Runnable::Plain(run) => run(&mut call),
        Runnable::Prepared(kernel) => kernel.compute(&mut call),
        Runnable::Async(_) => Err(internal("a kernel that waits in a straight plan")),
    };
    if let Err(e) = result {
        return Err(call.blame(e));
    }
    if call.outputs.len() < node.outputs.len() {
        return Err(call.blame(internal("did not set all its outputs")));
    }
    let mut cost = 1;
    for (slot, value) in node.outputs.iter().zip(&mut call.outputs) {
        cost += cost::of_output(value, step).map_err(|e| e.at_node(&compute.node.name, compute.node.op))?;
        if let Some(place) = slots.get_mut(*slot as usize) {
            *place = value.take();
        }
    }
    Ok(cost)
}

fn taken(value: Option<Value>) -> Result<Tensor> {
    value.ok_or_else(missing)?.into_tensor()
}

fn missing() -> Error {
    internal("an input is missing")
}

/// Reads the references among the inputs, unless the op takes a reference.
pub fn read_references(call: &mut OpCall<'_>) -> Result<()> {
    for i in 0..call.inputs.len() {
        let wants_ref = call.node.inputs.get(i).is_some_and(|p| p.is_ref);
        if let (Input::Ref(v), false) = (&call.inputs[i], wants_ref) {
            call.inputs[i] = Input::Owned(v.read().map_err(|e| call.blame(e))?);
        }
    }
    Ok(())
}
