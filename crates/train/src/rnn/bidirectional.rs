//! Bidirectional RNNs: a forward and a backward cell.

use super::{Cell, Sequence, over_sequence};
use thalweg_client::{Output, Scope};

/// Outputs and final states of the forward and of the backward cell, both in the order of the inputs.
#[track_caller]
pub fn bidirectional_dynamic_rnn(
    g: &Scope,
    forward: &dyn Cell,
    backward: &dyn Cell,
    sequence: &Sequence<'_>,
) -> [(Output, Vec<Output>); 2] {
    let g = g.variable_scope("bidirectional_rnn");
    let there = over_sequence(&g.variable_scope("fw"), forward, sequence);
    let back = g.variable_scope("bw");
    let reversed = reverse(&back, sequence.inputs, sequence);
    let (outputs, state) = over_sequence(&back, backward, &Sequence { inputs: &reversed, ..*sequence });
    [there, (reverse(&back, &outputs, sequence), state)]
}

/// Reverses each sequence; padding beyond its length stays in place.
fn reverse(g: &Scope, x: &Output, sequence: &Sequence<'_>) -> Output {
    let (batch, time) = if sequence.time_major { (1i64, 0i64) } else { (0, 1) };
    match sequence.lengths {
        Some(lengths) => g
            .op("ReverseSequence")
            .input(x)
            .input(lengths)
            .attr("seq_dim", time)
            .attr("batch_dim", batch)
            .output(),
        None => g.op("ReverseV2").input(x).input(g.constant(vec![time as i32])).output(),
    }
}
