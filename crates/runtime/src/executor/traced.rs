//! What a trace records of a node: its times, and the outputs that it allocated.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use thalweg_core::kernel::{Input, KernelNode, Outputs, Value};
use thalweg_core::step::{StepContext, Trace, TracedOutput};
use thalweg_core::tensor::Tensor;

/// A node of a traced step that has started.
pub struct Traced {
    trace: Arc<dyn Trace>,
    start: Instant,
    /// The memory of its inputs, by address: they may be gone when it ends.
    inputs: Vec<Range<usize>>,
}

impl Traced {
    /// `None` if the step is not traced.
    pub fn start<'a>(step: &StepContext, inputs: impl Iterator<Item = &'a Tensor>) -> Option<Traced> {
        let trace = step.trace.clone()?;
        let inputs = inputs.filter_map(memory).collect();
        Some(Traced { trace, start: Instant::now(), inputs })
    }

    /// The node has run; its outputs by number.
    pub fn end<'a>(self, node: &KernelNode, outputs: impl Iterator<Item = (usize, &'a Value)>) {
        let end = Instant::now();
        let output = |(slot, value): (usize, &Value)| match value {
            // A reference variable is not an output's memory.
            Value::Ref(_) => None,
            Value::Tensor(t) => Some(TracedOutput {
                slot,
                dtype: t.dtype(),
                shape: t.shape().clone(),
                bytes: t.byte_len(),
                allocated: t.is_unique() && !self.is_of_an_input(t),
            }),
        };
        let outputs = outputs.filter_map(output).collect();
        self.trace.ran(node, self.start, end, outputs);
    }

    fn is_of_an_input(&self, t: &Tensor) -> bool {
        memory(t).is_some_and(|m| self.inputs.iter().any(|i| i.contains(&m.start)))
    }
}

/// The addresses of a tensor's elements.
fn memory(t: &Tensor) -> Option<Range<usize>> {
    t.bytes().ok().filter(|b| !b.is_empty()).map(|b| b.as_ptr() as usize..b.as_ptr() as usize + b.len())
}

/// The tensors among inputs.
pub fn of_inputs<'a>(inputs: &'a [Input<'_>]) -> impl Iterator<Item = &'a Tensor> {
    inputs.iter().filter_map(|i| match i {
        Input::Borrowed(t) => Some(*t),
        Input::Owned(t) => Some(t),
        Input::Ref(_) => None,
    })
}

/// The tensors among values.
pub fn tensors<'a>(values: impl IntoIterator<Item = &'a Value>) -> impl Iterator<Item = &'a Tensor> {
    values.into_iter().filter_map(|v| match v {
        Value::Tensor(t) => Some(t),
        Value::Ref(_) => None,
    })
}

/// The values that are set, by number.
pub fn of_outputs(outputs: &Outputs) -> impl Iterator<Item = (usize, &Value)> {
    outputs.iter().enumerate().filter_map(|(i, v)| Some((i, v.as_ref()?)))
}
