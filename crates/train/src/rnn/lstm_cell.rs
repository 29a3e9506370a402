//! `LstmCell`: an LSTM with all that TensorFlow's cell of this name can do.

use super::Cell;
use super::cells::{linear, split};
use crate::clip::clip_by_value;
use crate::initializers::{Zeros, glorot_uniform};
use crate::layers::Activation;
use thalweg_client::{Output, Scope, VariableOptions};

/// Long short-term memory whose gates may see the memory (peepholes) and whose output may be projected to another size. The state is the
/// cell's memory and its output. Without any of that, [`super::Lstm`] computes the same; its variables have other names.
pub struct LstmCell {
    units: usize,
    forget_bias: f64,
    activation: Activation,
    use_peepholes: bool,
    cell_clip: Option<f64>,
    num_proj: Option<usize>,
    proj_clip: Option<f64>,
}

impl LstmCell {
    /// With so many units, and nothing beyond a plain LSTM.
    pub fn new(units: usize) -> Self {
        LstmCell {
            units,
            forget_bias: 1.0,
            activation: Activation::Tanh,
            use_peepholes: false,
            cell_clip: None,
            num_proj: None,
            proj_clip: None,
        }
    }

    /// Added to the forget gate; 1 by default.
    pub fn forget_bias(self, forget_bias: f64) -> Self {
        LstmCell { forget_bias, ..self }
    }

    /// In place of tanh.
    pub fn activation(self, activation: Activation) -> Self {
        LstmCell { activation, ..self }
    }

    /// Peepholes: gates see the memory, by diagonal weights.
    pub fn peepholes(self) -> Self {
        LstmCell { use_peepholes: true, ..self }
    }

    /// The memory is clipped to `[-limit, limit]`.
    pub fn cell_clip(self, limit: f64) -> Self {
        LstmCell { cell_clip: Some(limit), ..self }
    }

    /// The output is projected to this size.
    pub fn projection(self, size: usize) -> Self {
        LstmCell { num_proj: Some(size), ..self }
    }

    /// The projection is clipped to `[-limit, limit]`.
    pub fn proj_clip(self, limit: f64) -> Self {
        LstmCell { proj_clip: Some(limit), ..self }
    }

    /// A gate before its sigmoid, with its peephole.
    fn gate(&self, g: &Scope, gate: &Output, weights: &str, memory: &Output) -> Output {
        if !self.use_peepholes {
            return gate.clone();
        }
        let options = VariableOptions { dtype: gate.dtype(), trainable: true };
        let diagonal =
            g.get_variable_with(weights, &[self.units], g.initializer_or(&glorot_uniform(None)), options);
        gate + &diagonal.value * memory
    }

    fn project(&self, g: &Scope, output: &Output) -> Output {
        let Some(size) = self.num_proj else { return output.clone() };
        let g = g.variable_scope("projection");
        let options = VariableOptions { dtype: output.dtype(), trainable: true };
        let kernel = g.get_variable_with(
            "kernel",
            &[self.units, size],
            g.initializer_or(&glorot_uniform(None)),
            options,
        );
        clipped(&g, g.matmul(output, &kernel.value), self.proj_clip)
    }
}

fn clipped(g: &Scope, x: Output, limit: Option<f64>) -> Output {
    match limit {
        Some(limit) => clip_by_value(g, &x, -limit, limit),
        None => x,
    }
}

impl Cell for LstmCell {
    fn state_sizes(&self) -> Vec<usize> {
        vec![self.units, self.output_size()]
    }

    fn output_size(&self) -> usize {
        self.num_proj.unwrap_or(self.units)
    }

    fn step(&self, g: &Scope, input: &Output, state: &[Output]) -> (Output, Vec<Output>) {
        let g = g.variable_scope("lstm_cell");
        let (memory, output) = (&state[0], &state[1]);
        let gates = split(&g, &linear(&g, &[input, output], 4 * self.units, &Zeros), 4);
        let [i, j, f, o] = gates.as_slice() else { return (output.clone(), state.to_vec()) };
        let forget = f + g.number(self.forget_bias, f.dtype());
        let kept = g.sigmoid(self.gate(&g, &forget, "w_f_diag", memory)) * memory;
        let new = g.sigmoid(self.gate(&g, i, "w_i_diag", memory)) * self.activation.apply(&g, j);
        let memory = clipped(&g, kept + new, self.cell_clip);
        let open = g.sigmoid(self.gate(&g, o, "w_o_diag", &memory));
        let output = self.project(&g, &(open * self.activation.apply(&g, &memory)));
        (output.clone(), vec![memory, output])
    }
}
