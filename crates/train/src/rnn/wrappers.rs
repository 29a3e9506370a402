//! Cell wrappers.

use super::Cell;
use crate::layers::dropout;
use thalweg_client::{Output, Scope};

/// Several layers: the output of each is the input of the next.
pub struct Stacked(pub Vec<Box<dyn Cell>>);

impl Cell for Stacked {
    fn state_sizes(&self) -> Vec<usize> {
        self.0.iter().flat_map(|c| c.state_sizes()).collect()
    }

    fn output_size(&self) -> usize {
        self.0.last().map_or(0, |c| c.output_size())
    }

    fn step(&self, g: &Scope, input: &Output, state: &[Output]) -> (Output, Vec<Output>) {
        let g = g.variable_scope("multi_rnn_cell");
        let (mut x, mut next, mut rest) = (input.clone(), Vec::new(), state);
        for (i, cell) in self.0.iter().enumerate() {
            let (own, others) = rest.split_at(cell.state_sizes().len().min(rest.len()));
            let (y, new) = cell.step(&g.variable_scope(&format!("cell_{i}")), &x, own);
            next.extend(new);
            (x, rest) = (y, others);
        }
        (x, next)
    }
}

/// Dropout on the inputs and outputs of a cell.
pub struct Dropout<C> {
    /// The cell.
    pub cell: C,
    /// The fraction of inputs dropped.
    pub input_rate: f64,
    /// The fraction of outputs dropped.
    pub output_rate: f64,
    /// Nothing is dropped otherwise.
    pub training: bool,
    /// Of both; `None` for the graph's seed alone.
    pub seed: Option<i64>,
}

impl<C: Cell> Cell for Dropout<C> {
    fn state_sizes(&self) -> Vec<usize> {
        self.cell.state_sizes()
    }

    fn output_size(&self) -> usize {
        self.cell.output_size()
    }

    fn step(&self, g: &Scope, input: &Output, state: &[Output]) -> (Output, Vec<Output>) {
        let x = dropout(g, input, self.input_rate, self.training, self.seed);
        let (y, next) = self.cell.step(g, &x, state);
        (dropout(g, &y, self.output_rate, self.training, self.seed), next)
    }
}
