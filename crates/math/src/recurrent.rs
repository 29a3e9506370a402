//! Elementwise parts of recurrent cells: a row of the batch at a time, with all gates in one pass.

use crate::elementary::{sigmoid, tanh};

/// Vectors in a row of an LSTM's buffer: four gates, cell state, its tanh, output, and scratch.
pub const LSTM_VECTORS: usize = 8;

/// The order of the four gates: input, cell input, forget, output; or with the forget gate second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateOrder {
    Icfo,
    Ifco,
}

impl GateOrder {
    /// Four vectors in this order as input, cell input, forget and output.
    pub fn sorted<V>(self, [i, a, b, o]: [V; 4]) -> [V; 4] {
        match self {
            GateOrder::Icfo => [i, a, b, o],
            GateOrder::Ifco => [i, b, a, o],
        }
    }
}

/// The parameters of an LSTM's gates.
#[derive(Clone, Copy, Debug)]
pub struct LstmGates<'a> {
    pub order: GateOrder,
    pub forget_bias: f32,
    /// The cell state is clipped to this magnitude, if it is positive.
    pub cell_clip: f32,
    /// Peephole weights of input, forget and output gate.
    pub peepholes: Option<[&'a [f32]; 3]>,
}

/// The state of a cell after a step: input gate, state, forget gate, output gate, cell input, tanh of the state.
#[derive(Clone, Copy, Debug)]
pub struct LstmStep<'a> {
    pub i: &'a [f32],
    pub cs: &'a [f32],
    pub f: &'a [f32],
    pub o: &'a [f32],
    pub ci: &'a [f32],
    pub co: &'a [f32],
}

/// Splits a row into vectors of one length.
fn vectors<const N: usize>(row: &mut [f32]) -> [&mut [f32]; N] {
    let n = row.len() / N;
    let mut rest = row;
    std::array::from_fn(|_| {
        let (first, tail) = std::mem::take(&mut rest).split_at_mut(n);
        rest = tail;
        first
    })
}

impl LstmGates<'_> {
    /// One step. The row has [`LSTM_VECTORS`] vectors; the first four are the gates' pre-activations, in this order.
    pub fn forward(&self, cs_prev: &[f32], row: &mut [f32]) {
        let [a, b, c, d, cs, co, h, scratch] = vectors::<LSTM_VECTORS>(row);
        let [i, ci, f, o] = self.order.sorted([a, b, c, d]);
        let mut gate = |x: &mut [f32], bias: f32, state: &[f32], weights: Option<&[f32]>| {
            match weights {
                Some(w) => {
                    for (k, s) in scratch.iter_mut().enumerate() {
                        *s = x[k] + bias + state[k] * w[k];
                    }
                }
                None => scratch.iter_mut().zip(&*x).for_each(|(s, x)| *s = x + bias),
            }
            sigmoid(scratch, x);
        };
        let [wci, wcf, wco] = match self.peepholes {
            Some(weights) => weights.map(Some),
            None => [None; 3],
        };
        gate(i, 0.0, cs_prev, wci);
        gate(f, self.forget_bias, cs_prev, wcf);
        // The state's place holds the cell input until both are known.
        cs.copy_from_slice(ci);
        tanh(cs, ci);
        for (k, cs) in cs.iter_mut().enumerate() {
            *cs = ci[k] * i[k] + cs_prev[k] * f[k];
        }
        if self.cell_clip > 0.0 {
            cs.iter_mut().for_each(|cs| *cs = cs.clamp(-self.cell_clip, self.cell_clip));
        }
        gate(o, 0.0, cs, wco);
        tanh(cs, co);
        for (k, h) in h.iter_mut().enumerate() {
            *h = co[k] * o[k];
        }
    }

    /// The gradient of one step: the row gets those of the four pre-activations, in this order, and that of the previous state.
    pub fn backward(
        &self,
        step: LstmStep<'_>,
        cs_prev: &[f32],
        [cs_grad, h_grad]: [&[f32]; 2],
        row: &mut [f32],
    ) {
        let [a, b, c, d, prev] = vectors::<5>(row);
        let [di, dci, df, d_o] = self.order.sorted([a, b, c, d]);
        let LstmStep { i, cs: _, f, o, ci, co } = step;
        for k in 0..prev.len() {
            d_o[k] = o[k] * (1.0 - o[k]) * h_grad[k] * co[k];
            let mut dcs = (1.0 - co[k] * co[k]) * h_grad[k] * o[k] + cs_grad[k];
            if let Some([_, _, wco]) = self.peepholes {
                dcs += d_o[k] * wco[k];
            }
            dci[k] = (1.0 - ci[k] * ci[k]) * dcs * i[k];
            df[k] = f[k] * (1.0 - f[k]) * dcs * cs_prev[k];
            di[k] = i[k] * (1.0 - i[k]) * dcs * ci[k];
            prev[k] = dcs * f[k];
            if let Some([wci, wcf, _]) = self.peepholes {
                prev[k] += di[k] * wci[k] + df[k] * wcf[k];
            }
        }
    }
}

/// GRU: the sigmoid of reset and update gate in place; `scratch` is as long.
pub fn gru_gates(row: &mut [f32], scratch: &mut [f32]) {
    scratch.copy_from_slice(row);
    sigmoid(scratch, row);
}

/// GRU: the candidate's tanh in place, and the new state u h_prev + (1 - u) c.
pub fn gru_state(u: &[f32], h_prev: &[f32], c: &mut [f32], h: &mut [f32]) {
    h.copy_from_slice(c);
    tanh(h, c);
    for (k, h) in h.iter_mut().enumerate() {
        *h = u[k] * h_prev[k] + (1.0 - u[k]) * c[k];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cell of one unit, by the formulas, with both orders of gates.
    #[test]
    fn a_step_is_its_formulas_and_its_gradient_their_difference() {
        let sig = |x: f32| 1.0 / (1.0 + (-x).exp());
        let (w, prev) = ([0.3f32, -0.4, 0.5], 0.7f32);
        let gates = |order| LstmGates {
            order,
            forget_bias: 0.25,
            cell_clip: 0.0,
            peepholes: Some([&w[..1], &w[1..2], &w[2..]]),
        };
        let run = |pre: [f32; 4], prev: f32| {
            let mut row = [0.0; LSTM_VECTORS];
            row[..4].copy_from_slice(&pre);
            gates(GateOrder::Icfo).forward(&[prev], &mut row);
            row
        };
        let pre = [0.1, -0.2, 0.6, 0.9];
        let row = run(pre, prev);
        let (i, f, ci) = (sig(pre[0] + prev * w[0]), sig(pre[2] + 0.25 + prev * w[1]), pre[1].tanh());
        let cs = ci * i + prev * f;
        let o = sig(pre[3] + cs * w[2]);
        for (got, want) in row.iter().zip([i, ci, f, o, cs, cs.tanh(), cs.tanh() * o]) {
            assert!((got - want).abs() < 1e-6, "{got} {want}");
        }
        let mut other = [0.0; LSTM_VECTORS];
        other[..4].copy_from_slice(&[pre[0], pre[2], pre[1], pre[3]]);
        gates(GateOrder::Ifco).forward(&[prev], &mut other);
        assert_eq!(other[6], row[6]);
        // Of 2 cs + 3 h.
        let [i, ci, f, o, cs, co, ..] = [0, 1, 2, 3, 4, 5, 6].map(|k| &row[k..k + 1]);
        let mut grads = [0.0; 5];
        let step = LstmStep { i, cs, f, o, ci, co };
        gates(GateOrder::Icfo).backward(step, &[prev], [&[2.0], &[3.0]], &mut grads);
        let value = |row: [f32; LSTM_VECTORS]| 2.0 * row[4] + 3.0 * row[6];
        for k in 0..5 {
            let moved = |by: f32| {
                let (mut pre, mut prev) = (pre, prev);
                *(if k < 4 { &mut pre[k] } else { &mut prev }) += by;
                value(run(pre, prev))
            };
            let slope = (moved(1e-2) - moved(-1e-2)) / 2e-2;
            assert!((slope - grads[k]).abs() < 1e-3, "{k}: {slope}, {}", grads[k]);
        }
    }

    #[test]
    fn the_state_is_clipped() {
        let gates = LstmGates { order: GateOrder::Icfo, forget_bias: 0.0, cell_clip: 0.5, peepholes: None };
        let mut row = [3.0; LSTM_VECTORS];
        gates.forward(&[9.0], &mut row);
        assert_eq!(row[4], 0.5);
    }
}
