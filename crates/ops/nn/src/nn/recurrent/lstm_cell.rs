//! `LSTMBlockCell`: one step of an LSTM; and its gradient.

use super::product::{by_input_and_state, matrix, product};
use super::shapes::{Sizes, expect};
use crate::elementwise::for_chunks_of;
use crate::narrow::in_float;
use crate::prelude::*;
use thalweg_math::parallel::Parallel;
use thalweg_math::recurrent::{GateOrder, LSTM_VECTORS, LstmGates, LstmStep};

pub static LSTM_BLOCK_CELL: Op = Op {
    name: "LSTMBlockCell",
    doc: "One step of an LSTM: gates i, f and o, cell input ci, state cs, its tanh co and the output h.",
    inputs: &["x: T", "cs_prev: T", "h_prev: T", "w: T", "wci: T", "wcf: T", "wco: T", "b: T"],
    outputs: &["i: T", "cs: T", "f: T", "o: T", "ci: T", "co: T", "h: T"],
    attrs: &[
        "forget_bias: float = 1",
        "cell_clip: float = 3",
        "use_peephole: bool = false",
        "T: {half, float}",
    ],
    shape: |c| {
        let (x, state) = (c.rank(0, 2)?, c.rank(1, 2)?);
        c.all([merge_dim(x.dim(0), state.dim(0))?, state.dim(1)].into_iter().collect())
    },
    grad: Missing,
    kernels: &[
        cpu_row!([("T", DataType::Float)], Make::Prepared(prepare)),
        cpu_row!([("T", DataType::Half)], Make::Prepared(prepare_narrow::<f16>)),
    ],
    cases: |r| {
        let mut case = |peephole: bool| {
            Case::new(inputs(r, 2, 3, 2)).attr("use_peephole", peephole).attr("cell_clip", Attr::Float(1.5))
        };
        vec![case(false), case(true)]
    },
    expensive: true,
    ..Op::PURE
};

pub static LSTM_BLOCK_CELL_GRAD: Op = Op {
    name: "LSTMBlockCellGrad",
    doc: "The gradient of LSTMBlockCell by the previous state, the gates' pre-activations and the peephole weights.",
    inputs: &[
        "x: T",
        "cs_prev: T",
        "h_prev: T",
        "w: T",
        "wci: T",
        "wcf: T",
        "wco: T",
        "b: T",
        "i: T",
        "cs: T",
        "f: T",
        "o: T",
        "ci: T",
        "co: T",
        "cs_grad: T",
        "h_grad: T",
    ],
    outputs: &["cs_prev_grad: T", "dicfo: T", "wci_grad: T", "wcf_grad: T", "wco_grad: T"],
    attrs: &["use_peephole: bool", "T: {half, float}"],
    shape: |c| {
        let (x, state) = (c.rank(0, 2)?, c.rank(1, 2)?);
        let (batch, units) = (merge_dim(x.dim(0), state.dim(0))?, state.dim(1));
        let gates = if units < 0 { -1 } else { units.saturating_mul(4) };
        let weights = PartialShape::vector(units);
        Ok(vec![
            [batch, units].into_iter().collect(),
            [batch, gates].into_iter().collect(),
            weights.clone(),
            weights.clone(),
            weights,
        ])
    },
    kernels: &[
        cpu_row!([("T", DataType::Float)], Make::Prepared(prepare_grad)),
        cpu_row!([("T", DataType::Half)], Make::Prepared(prepare_narrow_grad::<f16>)),
    ],
    cases: |r| {
        let mut case = |peephole: bool| {
            let steps = (0..8).map(|_| r.range(&[2, 2], -0.9, 0.9)).collect();
            Case::new([inputs(r, 2, 3, 2), steps].concat()).attr("use_peephole", peephole)
        };
        vec![case(false), case(true)]
    },
    ..LSTM_BLOCK_CELL
};

/// x to b of a cell.
fn inputs(r: &mut CaseGen, batch: usize, inputs: usize, units: usize) -> Vec<Tensor> {
    let shapes = [[batch, inputs], [batch, units], [batch, units], [inputs + units, 4 * units]];
    let mut all: Vec<Tensor> = shapes.iter().map(|s| r.tensor(s)).collect();
    all.extend((0..3).map(|_| r.tensor(&[units])));
    all.push(r.tensor(&[4 * units]));
    all
}

/// Attrs of all LSTM ops, as far as they have them.
#[derive(Clone, Copy)]
pub struct Lstm {
    pub order: GateOrder,
    pub forget_bias: f32,
    pub cell_clip: f32,
    pub peephole: bool,
}

impl Lstm {
    pub fn of(node: &KernelNode) -> Result<Lstm> {
        let attrs = &node.attrs;
        Ok(Lstm {
            order: if node.op.ends_with("V2") { GateOrder::Ifco } else { GateOrder::Icfo },
            forget_bias: attrs.float("forget_bias").unwrap_or(0.0),
            cell_clip: attrs.float("cell_clip").unwrap_or(0.0),
            peephole: attrs.bool("use_peephole")?,
        })
    }

    /// With the peephole weights in inputs from `first` on.
    pub fn gates<'a>(&self, c: &'a OpCall<'_>, first: usize) -> Result<LstmGates<'a>> {
        let peepholes = match self.peephole {
            true => Some([c.slice(first)?, c.slice(first + 1)?, c.slice(first + 2)?]),
            false => None,
        };
        let Lstm { order, forget_bias, cell_clip, .. } = *self;
        Ok(LstmGates { order, forget_bias, cell_clip, peepholes })
    }
}

/// The outputs of one step, in the ops' order.
pub type StepOutputs<'a> = [&'a mut [f32]; 7];

/// Applies the gates to rows of pre-activations, and writes the outputs.
pub fn activate(
    par: &dyn Parallel,
    gates: &LstmGates<'_>,
    units: usize,
    cs_prev: &[f32],
    rows: &mut [f32],
    outputs: StepOutputs<'_>,
) {
    if units == 0 {
        return;
    }
    let width = LSTM_VECTORS * units;
    for_chunks_of(par, rows, width, 4096usize.div_ceil(width), &|range, rows| {
        for (n, row) in range.zip(rows.chunks_exact_mut(width)) {
            gates.forward(&cs_prev[n * units..][..units], row);
        }
    });
    let [i, ci, f, o] = gates.order.sorted([0, 1, 2, 3]);
    for (output, vector) in outputs.into_iter().zip([i, 4, f, o, ci, 5, 6]) {
        for (row, out) in rows.chunks_exact(width).zip(output.chunks_exact_mut(units)) {
            out.copy_from_slice(&row[vector * units..][..units]);
        }
    }
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let lstm = Lstm::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run(c, lstm)))
}

fn prepare_narrow<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let lstm = Lstm::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_float::<T>(c, &|c| run(c, lstm))))
}

fn prepare_grad(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let lstm = Lstm::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run_grad(c, lstm)))
}

fn prepare_narrow_grad<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let lstm = Lstm::of(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_float::<T>(c, &|c| run_grad(c, lstm))))
}

fn run(c: &mut OpCall<'_>, lstm: Lstm) -> Result<()> {
    let (_, sizes) = Sizes::of(c, 0, 1, false)?;
    sizes.check_lstm(c, 1)?;
    let Sizes { batch, inputs, units } = sizes;
    let mut outputs =
        reserve::try_collect((0..7).map(|_| Tensor::uninit(DataType::Float, c.shape(1)?.clone())))?;
    if sizes.state() > 0 {
        let mut rows = Tensor::uninit(DataType::Float, Shape::new(&[batch, LSTM_VECTORS * units])?)?;
        let (rows, width) = (rows.as_mut_slice::<f32>()?, LSTM_VECTORS * units);
        let [by_x, by_h] = by_input_and_state(c.slice(3)?, inputs, units, 4 * units)?;
        let (x, h) = (matrix(c.slice(0)?, batch, inputs)?, matrix(c.slice(2)?, batch, units)?);
        product(c.par(), x, by_x, (&mut *rows, width), Some(c.slice(7)?), false)?;
        product(c.par(), h, by_h, (&mut *rows, width), None, true)?;
        let gates = lstm.gates(c, 4)?;
        let mut slices = outputs.iter_mut().map(|t| t.as_mut_slice::<f32>());
        let mut next = || slices.next().unwrap_or(Ok(&mut []));
        let outputs = [next()?, next()?, next()?, next()?, next()?, next()?, next()?];
        activate(c.par(), &gates, units, c.slice(1)?, rows, outputs);
    }
    for (i, t) in outputs.into_iter().enumerate() {
        c.set(i, t);
    }
    Ok(())
}

/// The gradients of one step of all rows: those of the pre-activations and of the previous state, side by side.
pub fn step_gradients(
    par: &dyn Parallel,
    gates: &LstmGates<'_>,
    units: usize,
    step: LstmStep<'_>,
    cs_prev: &[f32],
    grads: [&[f32]; 2],
    rows: &mut [f32],
) {
    let width = 5 * units.max(1);
    for_chunks_of(par, rows, width, 4096usize.div_ceil(width), &|range, rows| {
        for (n, row) in range.zip(rows.chunks_exact_mut(width)) {
            let of = |all: &[f32]| n * units..((n + 1) * units).min(all.len());
            let step = LstmStep {
                i: &step.i[of(step.i)],
                cs: &step.cs[of(step.cs)],
                f: &step.f[of(step.f)],
                o: &step.o[of(step.o)],
                ci: &step.ci[of(step.ci)],
                co: &step.co[of(step.co)],
            };
            gates.backward(step, &cs_prev[of(cs_prev)], grads.map(|g| &g[of(g)]), row);
        }
    });
}

/// Adds the gradients by the peephole weights of one step.
pub fn add_peepholes(
    gates: &LstmGates<'_>,
    units: usize,
    rows: &[f32],
    cs_prev: &[f32],
    cs: &[f32],
    sums: [&mut [f32]; 3],
) {
    if gates.peepholes.is_none() || units == 0 {
        return;
    }
    let [i, _, f, o] = gates.order.sorted([0, 1, 2, 3]);
    for (sums, (gate, state)) in sums.into_iter().zip([(i, cs_prev), (f, cs_prev), (o, cs)]) {
        for (row, state) in rows.chunks_exact(5 * units).zip(state.chunks_exact(units)) {
            let row = &row[gate * units..][..units];
            sums.iter_mut().zip(row.iter().zip(state)).for_each(|(sum, (d, s))| *sum += d * s);
        }
    }
}

fn run_grad(c: &mut OpCall<'_>, lstm: Lstm) -> Result<()> {
    let (_, sizes) = Sizes::of(c, 0, 1, false)?;
    sizes.check_lstm(c, 1)?;
    let Sizes { batch, units, .. } = sizes;
    for (i, name) in ["i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad"].into_iter().enumerate() {
        expect(c, 8 + i, name, &[batch, units])?;
    }
    let gates = lstm.gates(c, 4)?;
    let mut rows = Tensor::uninit(DataType::Float, Shape::new(&[batch, 5 * units])?)?;
    let rows = rows.as_mut_slice::<f32>()?;
    let (cs_prev, cs) = (c.slice::<f32>(1)?, c.slice::<f32>(9)?);
    let step =
        LstmStep { i: c.slice(8)?, cs, f: c.slice(10)?, o: c.slice(11)?, ci: c.slice(12)?, co: c.slice(13)? };
    step_gradients(c.par(), &gates, units, step, cs_prev, [c.slice(14)?, c.slice(15)?], rows);
    let mut peepholes = Tensor::zeros(DataType::Float, Shape::new(&[3, units])?)?;
    let (first, rest) = peepholes.as_mut_slice::<f32>()?.split_at_mut(units);
    let (second, third) = rest.split_at_mut(units);
    add_peepholes(&gates, units, rows, cs_prev, cs, [first, second, third]);
    let mut prev = Tensor::uninit(DataType::Float, c.shape(1)?.clone())?;
    let mut dicfo = Tensor::uninit(DataType::Float, Shape::new(&[batch, 4 * units])?)?;
    if units > 0 {
        let outs = dicfo.as_mut_slice::<f32>()?.chunks_exact_mut(4 * units);
        for ((row, out), prev) in
            rows.chunks_exact(5 * units).zip(outs).zip(prev.as_mut_slice::<f32>()?.chunks_exact_mut(units))
        {
            out.copy_from_slice(&row[..4 * units]);
            prev.copy_from_slice(&row[4 * units..]);
        }
    }
    c.set(0, prev);
    c.set(1, dicfo);
    for i in 0..3 {
        let row = peepholes.rows(i, 1)?.reshape(Shape::vector(units))?;
        c.set(2 + i, row);
    }
    Ok(())
}
