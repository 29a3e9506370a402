//! The cells: plain, LSTM, GRU. Variables and formulas are those of TensorFlow's cells of these names.

use super::Cell;
use crate::initializers::{Constant, Zeros, glorot_uniform};
use crate::layers::Activation;
use thalweg_client::{Code, Error, Initializer, Output, Outputs, Scope, VariableOptions};

/// `activation([x, h] w + b)`.
pub struct Rnn {
    units: usize,
    activation: Activation,
}

impl Rnn {
    /// With so many units and tanh.
    pub fn new(units: usize) -> Self {
        Rnn { units, activation: Activation::Tanh }
    }

    /// In place of tanh.
    pub fn activation(self, activation: Activation) -> Self {
        Rnn { activation, ..self }
    }
}

/// Long short-term memory, TensorFlow's basic one; [`super::LstmCell`] can do more. The state is the cell's memory and its output.
pub struct Lstm {
    units: usize,
    forget_bias: f64,
}

impl Lstm {
    /// With so many units.
    pub fn new(units: usize) -> Self {
        Lstm { units, forget_bias: 1.0 }
    }

    /// Added to the forget gate; 1 by default.
    pub fn forget_bias(self, forget_bias: f64) -> Self {
        Lstm { forget_bias, ..self }
    }
}

/// Gated recurrent unit.
pub struct Gru {
    units: usize,
}

impl Gru {
    /// With so many units.
    pub fn new(units: usize) -> Self {
        Gru { units }
    }
}

/// `[parts] w + b` for variables `kernel` and `bias` of the scope.
pub(super) fn linear(g: &Scope, parts: &[&Output], units: usize, bias: &dyn Initializer) -> Output {
    let width = |x: &&Output| x.shape().dims().and_then(|d| d.last().copied()).filter(|n| *n > 0);
    let widths: Option<Vec<i64>> = parts.iter().map(width).collect();
    let Some(widths) = widths else {
        let text =
            "a recurrent cell needs inputs whose last dimension is known; give the placeholder a shape";
        g.mistake(Error::new(Code::InvalidArgument, text));
        return parts[0].clone();
    };
    let inputs = widths.iter().sum::<i64>() as usize;
    let joined = if parts.len() == 1 { parts[0].clone() } else { g.concat(parts, 1) };
    let options = VariableOptions { dtype: joined.dtype(), trainable: true };
    let kernel =
        g.get_variable_with("kernel", &[inputs, units], g.initializer_or(&glorot_uniform(None)), options);
    let bias = g.get_variable_with("bias", &[units], bias, options);
    g.bias_add(g.matmul(joined, &kernel.value), &bias.value)
}

pub(super) fn split(g: &Scope, x: &Output, parts: i64) -> Outputs {
    let axis = g.constant(1i32);
    g.op("Split").name("split").input(axis).input(x).attr("num_split", parts).outputs()
}

impl Cell for Rnn {
    fn state_sizes(&self) -> Vec<usize> {
        vec![self.units]
    }

    fn output_size(&self) -> usize {
        self.units
    }

    fn step(&self, g: &Scope, input: &Output, state: &[Output]) -> (Output, Vec<Output>) {
        let g = g.variable_scope("basic_rnn_cell");
        let y = self.activation.apply(&g, &linear(&g, &[input, &state[0]], self.units, &Zeros));
        (y.clone(), vec![y])
    }
}

impl Cell for Lstm {
    fn state_sizes(&self) -> Vec<usize> {
        vec![self.units, self.units]
    }

    fn output_size(&self) -> usize {
        self.units
    }

    fn step(&self, g: &Scope, input: &Output, state: &[Output]) -> (Output, Vec<Output>) {
        let g = g.variable_scope("basic_lstm_cell");
        let (memory, output) = (&state[0], &state[1]);
        let gates = split(&g, &linear(&g, &[input, output], 4 * self.units, &Zeros), 4);
        let [i, j, f, o] = gates.as_slice() else { return (output.clone(), state.to_vec()) };
        let forget = g.number(self.forget_bias, f.dtype());
        let kept = memory * g.sigmoid(f + forget);
        let memory = kept + g.sigmoid(i) * g.tanh(j);
        let output = g.tanh(&memory) * g.sigmoid(o);
        (output.clone(), vec![memory, output])
    }
}

impl Cell for Gru {
    fn state_sizes(&self) -> Vec<usize> {
        vec![self.units]
    }

    fn output_size(&self) -> usize {
        self.units
    }

    fn step(&self, g: &Scope, input: &Output, state: &[Output]) -> (Output, Vec<Output>) {
        let g = g.variable_scope("gru_cell");
        let state = &state[0];
        let gates = g.variable_scope("gates");
        let gates = g.sigmoid(linear(&gates, &[input, state], 2 * self.units, &Constant(1.0)));
        let gates = split(&g, &gates, 2);
        let [reset, update] = gates.as_slice() else { return (state.clone(), vec![state.clone()]) };
        let candidate = g.variable_scope("candidate");
        let candidate = g.tanh(linear(&candidate, &[input, &(reset * state)], self.units, &Zeros));
        let one = g.number(1.0, update.dtype());
        let next = update * state + (one - update) * candidate;
        (next.clone(), vec![next])
    }
}
