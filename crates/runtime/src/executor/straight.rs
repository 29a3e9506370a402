//! Running a straight plan: one node after the other on the calling thread. Kernels may use the pool inside.

use super::RunInput;
use crate::plan::{Operand, Straight, StraightNode};
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Instant;
use thalweg_core::direct::Runnable;
use thalweg_core::error::{Error, Result, internal};
use thalweg_core::kernel::{Input, OpCall, Value};
use thalweg_core::step::StepContext;
use thalweg_core::tensor::Tensor;

/// How many nodes run between two looks at the clock.
const CHECK_EVERY: usize = 64;

type Slots = Vec<Option<Value>>;

impl Straight {
    pub fn run(&self, mut input: RunInput) -> Result<Vec<Tensor>> {
        let mut slots: Slots = Vec::with_capacity(self.slots);
        slots.resize_with(self.slots, || None);
        for (slot, value) in self.feeds.iter().zip(input.feeds.drain(..)) {
            if let Some(place) = slot.and_then(|s| slots.get_mut(s as usize)) {
                *place = Some(Value::Tensor(value));
            }
        }
        for chunk in self.nodes.chunks(CHECK_EVERY) {
            input.step.check()?;
            run_nodes(chunk, &self.constants, &mut slots, &input.step)?;
        }
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

/// Runs nodes one after the other, and tells the tracer of each if there is one. One call serves them all: its lists are
/// emptied, not made anew.
pub fn run_nodes<'a>(
    nodes: &'a [StraightNode],
    constants: &'a [Value],
    slots: &mut [Option<Value>],
    step: &'a Arc<StepContext>,
) -> Result<()> {
    let Some(first) = nodes.first() else { return Ok(()) };
    let mut call = OpCall::new(&first.compute.node, step, SmallVec::new());
    if let Some(trace) = &step.trace {
        for node in nodes {
            let start = Instant::now();
            run_node(node, constants, slots, &mut call)?;
            trace.ran(&node.compute.node, start, Instant::now());
        }
        return Ok(());
    }
    nodes.iter().try_for_each(|node| run_node(node, constants, slots, &mut call))
}

#[inline]
fn run_node<'a>(
    node: &'a StraightNode,
    constants: &'a [Value],
    slots: &mut [Option<Value>],
    call: &mut OpCall<'a>,
) -> Result<()> {
    let compute = &node.compute;
    call.node = &compute.node;
    call.inputs.clear();
    call.outputs.clear();
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
        settle(call)?;
    }
    let result = match &compute.run {
        Runnable::Plain(run) => run(call),
        Runnable::Prepared(kernel) => kernel.compute(call),
        Runnable::Async(_) => Err(internal("a kernel that waits in a straight plan")),
    };
    if let Err(e) = result {
        return Err(call.blame(e));
    }
    if call.outputs.len() < node.outputs.len() {
        return Err(call.blame(internal("did not set all its outputs")));
    }
    for (slot, value) in node.outputs.iter().zip(call.outputs.drain(..)) {
        if let Some(place) = slots.get_mut(*slot as usize) {
            *place = value;
        }
    }
    Ok(())
}

fn taken(value: Option<Value>) -> Result<Tensor> {
    value.ok_or_else(missing)?.into_tensor()
}

fn missing() -> Error {
    internal("an input is missing")
}

/// A reference stays one only for ops that ask for it; for others it is read now.
pub fn settle(call: &mut OpCall<'_>) -> Result<()> {
    for i in 0..call.inputs.len() {
        let wants_ref = call.node.inputs.get(i).is_some_and(|p| p.is_ref);
        if let (Input::Ref(v), false) = (&call.inputs[i], wants_ref) {
            call.inputs[i] = Input::Owned(v.read().map_err(|e| call.blame(e))?);
        }
    }
    Ok(())
}
