//! A cell over a sequence of known length, unrolled in the graph.

use super::Cell;
use thalweg_client::{Output, Reuse, Scope};

/// The outputs for each input, and the final state. All steps share the cell's variables.
#[track_caller]
pub fn static_rnn(
    g: &Scope,
    cell: &dyn Cell,
    inputs: &[Output],
    initial_state: Option<&[Output]>,
) -> (Vec<Output>, Vec<Output>) {
    let g = g.variable_scope_with("rnn", Reuse::Auto);
    let Some(first) = inputs.first() else { return (Vec::new(), Vec::new()) };
    let mut state = match initial_state {
        Some(s) => s.to_vec(),
        None => cell.zero_state(&g, first, 0, first.dtype()),
    };
    let mut outputs = Vec::with_capacity(inputs.len());
    for x in inputs {
        let (y, next) = cell.step(&g, x, &state);
        outputs.push(y);
        state = next;
    }
    (outputs, state)
}
