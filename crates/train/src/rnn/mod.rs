//! Recurrent nets: cells, and RNNs over a sequence, unrolled in the graph or as a while loop.

mod bidirectional;
mod cells;
mod dynamic;
mod lstm_cell;
mod unrolled;
mod wrappers;

pub use bidirectional::bidirectional_dynamic_rnn;
pub use cells::{Gru, Lstm, Rnn};
pub use dynamic::{Sequence, dynamic_rnn, over_sequence};
pub use lstm_cell::LstmCell;
pub use unrolled::static_rnn;
pub use wrappers::{Dropout, Stacked};

use thalweg_client::{DataType, Output, Scope};

/// One step of a recurrent net. The state is one or more tensors of shape `[batch, size]`.
pub trait Cell {
    /// Sizes of the tensors of the state.
    fn state_sizes(&self) -> Vec<usize>;

    /// The size of the last dimension of the output.
    fn output_size(&self) -> usize;

    /// The output and the next state. Variables are made, or found, in the variable scope of `g`.
    fn step(&self, g: &Scope, input: &Output, state: &[Output]) -> (Output, Vec<Output>);

    /// A state of zeros for a batch of as many rows as `like` has in its dimension `axis`.
    fn zero_state(&self, g: &Scope, like: &Output, axis: i32, dtype: DataType) -> Vec<Output> {
        let g = g.name_scope("zero_state");
        let batch = g.slice(g.shape(like), &[axis], &[1]);
        let zero = g.number(0.0, dtype);
        self.state_sizes()
            .iter()
            .map(|n| {
                let dims = g.concat(&[&batch, &g.constant(vec![*n as i32])], 0);
                g.op("Fill").name("zeros").input(dims).input(&zero).output()
            })
            .collect()
    }
}
