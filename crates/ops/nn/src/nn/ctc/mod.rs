//! Connectionist temporal classification: loss and decoders of label sequences.

mod decoders;
mod loss;

use crate::prelude::*;

pub static OPS: &[&Op] =
    &[&loss::CTC_LOSS, &decoders::CTC_BEAM_SEARCH_DECODER, &decoders::CTC_GREEDY_DECODER];

/// Steps, batch and classes of the logits, input 0.
#[derive(Clone, Copy)]
struct Logits {
    steps: usize,
    batch: usize,
    classes: usize,
}

impl Logits {
    fn of(c: &OpCall<'_>) -> Result<Logits> {
        match *c.shape(0)?.dims() {
            [0, _, _] => Err(invalid!("inputs must have at least one step of time, got {}", c.shape(0)?)),
            [steps, batch, classes] => Ok(Logits { steps, batch, classes }),
            _ => Err(invalid!("inputs is not a 3-Tensor: {}", c.shape(0)?)),
        }
    }

    /// The logits of one step of one sequence.
    fn row<'a, T>(&self, all: &'a [T], step: usize, sequence: usize) -> &'a [T] {
        &all[(step * self.batch + sequence) * self.classes..][..self.classes]
    }
}
