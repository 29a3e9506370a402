//! `BlockLSTM`, `BlockLSTMV2`: an LSTM over a sequence; and their gradients.
//!
//! Only the products with the previous output depend on the previous step. Those with the input, and by the weights, are of
//! blocks of steps: few large products instead of many small ones.

use super::lstm_cell::{Lstm, activate, add_peepholes, step_gradients};
use super::product::{add_rows, by_input_and_state, columns, matrix, product};
use super::shapes::{Sizes, expect};
use crate::narrow::in_float;
use crate::prelude::*;
use std::ops::Range;
use thalweg_math::recurrent::{LSTM_VECTORS, LstmGates, LstmStep};

/// Rows in a block of steps.
const BLOCK: usize = 512;

pub static BLOCK_LSTM: Op = Op {
    name: "BlockLSTM",
    doc: "An LSTM over the first seq_len_max steps of x: gates, cell inputs, states and outputs of each step, zero after these.",
    inputs: &[
        "seq_len_max: int64",
        "x: T",
        "cs_prev: T",
        "h_prev: T",
        "w: T",
        "wci: T",
        "wcf: T",
        "wco: T",
        "b: T",
    ],
    outputs: &["i: T", "cs: T", "f: T", "o: T", "ci: T", "co: T", "h: T"],
    attrs: &[
        "forget_bias: float = 1",
        "cell_clip: float = 3",
        "use_peephole: bool = false",
        "T: {half, float}",
    ],
    shape: |c| {
        c.scalar(0)?;
        let (x, b) = (c.rank(1, 3)?, c.rank(8, 1)?);
        let units = if b.dim(0) < 0 { -1 } else { b.dim(0) / 4 };
        c.all([x.dim(0), x.dim(1), units].into_iter().collect())
    },
    grad: Rule(|g| grad(g, "BlockLSTMGrad")),
    kernels: &[
        cpu_row!([("T", DataType::Float)], Make::Prepared(prepare)),
        cpu_row!([("T", DataType::Half)], Make::Prepared(prepare_narrow::<f16>)),
    ],
    cases: |r| cases(r, false),
    expensive: true,
    host_inputs: &["seq_len_max"],
    ..Op::PURE
};

pub static BLOCK_LSTM_V2: Op = Op {
    name: "BlockLSTMV2",
    doc: "As BlockLSTM, with the gates in the order i, f, ci, o, and without a forget bias.",
    attrs: &["cell_clip: float = 0", "use_peephole: bool = false", "T: {half, float}"],
    grad: Rule(|g| grad(g, "BlockLSTMGradV2")),
    ..BLOCK_LSTM
};

pub static BLOCK_LSTM_GRAD: Op = Op {
    name: "BlockLSTMGrad",
    doc: "The gradients of BlockLSTM by its inputs, from those of states and outputs.",
    inputs: &[
        "seq_len_max: int64",
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
        "h: T",
        "cs_grad: T",
        "h_grad: T",
    ],
    outputs: &[
        "x_grad: T",
        "cs_prev_grad: T",
        "h_prev_grad: T",
        "w_grad: T",
        "wci_grad: T",
        "wcf_grad: T",
        "wco_grad: T",
        "b_grad: T",
    ],
    attrs: &["use_peephole: bool", "T: {half, float}"],
    shape: |c| {
        c.scalar(0)?;
        let inputs = [(1, 3), (2, 2), (3, 2), (4, 2), (5, 1), (6, 1), (7, 1), (8, 1)];
        inputs.into_iter().map(|(i, rank)| c.rank(i, rank)).collect()
    },
    grad: Missing,
    kernels: &[
        cpu_row!([("T", DataType::Float)], Make::Prepared(prepare_grad)),
        cpu_row!([("T", DataType::Half)], Make::Prepared(prepare_narrow_grad::<f16>)),
    ],
    cases: |r| cases(r, true),
    ..BLOCK_LSTM
};

pub static BLOCK_LSTM_GRAD_V2: Op = Op { name: "BlockLSTMGradV2", ..BLOCK_LSTM_GRAD };

fn cases(r: &mut CaseGen, gradient: bool) -> Vec<Case> {
    let mut case = |steps: i64, peephole: bool| {
        let shapes: [&[usize]; 8] = [&[3, 2, 2], &[2, 2], &[2, 2], &[4, 8], &[2], &[2], &[2], &[8]];
        let mut inputs = vec![Tensor::scalar(steps)];
        inputs.extend(shapes.map(|s| r.tensor(s)));
        if gradient {
            inputs.extend((0..9).map(|_| r.range(&[3, 2, 2], -0.9, 0.9)));
        }
        // Gradients of the other outputs are dropped, as in TensorFlow.
        Case::new(inputs).attr("use_peephole", peephole).without_difference(&[0, 1, 2, 3, 4, 5, 6, 7, 8])
    };
    // Past seq_len_max TensorFlow leaves gates uninitialised.
    if gradient {
        return vec![case(3, false), case(3, true), case(2, true)];
    }
    vec![case(3, false), case(3, true)]
}

/// States and outputs alone have a gradient.
fn grad(g: &mut GradCall<'_>, op: &str) -> Result<Vec<Grad>> {
    let (cs_grad, h_grad) = (g.dy_or_zeros(1)?, g.dy_or_zeros(6)?);
    let args = g.x.iter().chain(g.y).chain([&cs_grad, &h_grad]).map(|o| Arg::from(*o)).collect();
    let peephole = ("use_peephole", Attr::Bool(g.attrs.bool("use_peephole")?));
    let grads = g.graph.add(op, args, [peephole].into_iter().collect())?;
    Ok([Grad::None].into_iter().chain(grads.into_iter().map(Grad::from)).collect())
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

/// The checked sizes of a sequence: its length, the steps to compute, and those of the cell.
fn sequence(c: &OpCall<'_>) -> Result<(usize, usize, Sizes)> {
    let steps = c.scalar::<i64>(0)?;
    let (time, sizes) = Sizes::of(c, 1, 2, true)?;
    sizes.check_lstm(c, 2)?;
    match usize::try_from(steps) {
        Ok(steps) if steps <= time => Ok((time, steps, sizes)),
        _ => Err(invalid!("seq_len_max must be in [0, {time}], the steps of x, got {steps}")),
    }
}

/// Blocks of steps.
fn blocks(steps: usize, batch: usize) -> impl DoubleEndedIterator<Item = Range<usize>> {
    let each = (BLOCK / batch.max(1)).max(1);
    (0..steps.div_ceil(each)).map(move |i| i * each..steps.min((i + 1) * each))
}

fn run(c: &mut OpCall<'_>, lstm: Lstm) -> Result<()> {
    let (time, steps, sizes) = sequence(c)?;
    let shape = Shape::new(&[time, sizes.batch, sizes.units])?;
    let mut outputs = reserve::try_collect((0..7).map(|_| Tensor::zeros(DataType::Float, shape.clone())))?;
    if sizes.state() > 0 && steps > 0 {
        let slices = reserve::try_collect(outputs.iter_mut().map(|t| t.as_mut_slice::<f32>()))?;
        let Ok(slices) = <[&mut [f32]; 7]>::try_from(slices) else {
            return Err(internal("an LSTM has seven outputs"));
        };
        forward(c, &lstm.gates(c, 5)?, sizes, steps, slices)?;
    }
    for (i, t) in outputs.into_iter().enumerate() {
        c.set(i, t);
    }
    Ok(())
}

fn forward(
    c: &OpCall<'_>,
    gates: &LstmGates<'_>,
    sizes: Sizes,
    steps: usize,
    mut outputs: [&mut [f32]; 7],
) -> Result<()> {
    let (Sizes { batch, inputs, units }, state) = (sizes, sizes.state());
    let width = LSTM_VECTORS * units;
    let most = blocks(steps, batch).next().map_or(0, |block| block.len());
    let rows = most.checked_mul(batch).ok_or_else(|| invalid!("a batch of {batch} is too large"))?;
    let mut rows = Tensor::uninit(DataType::Float, Shape::new(&[rows, width])?)?;
    let rows = rows.as_mut_slice::<f32>()?;
    let (x, b) = (c.slice::<f32>(1)?, c.slice::<f32>(8)?);
    let [by_x, by_h] = by_input_and_state(c.slice(4)?, inputs, units, 4 * units)?;
    for block in blocks(steps, batch) {
        let x = &x[block.start * batch * inputs..block.end * batch * inputs];
        let x = matrix(x, block.len() * batch, inputs)?;
        product(c.par(), x, by_x, (&mut *rows, width), Some(b), false)?;
        for (step, rows) in block.zip(rows.chunks_exact_mut(batch * width)) {
            // Everything before this step, and this step.
            let parts = outputs.each_mut().map(|all| all[..(step + 1) * state].split_at_mut(step * state));
            let [(_, i), (cs_before, cs), (_, f), (_, o), (_, ci), (_, co), (h_before, h)] = parts;
            let (cs_prev, h_prev): (&[f32], &[f32]) = match step {
                0 => (c.slice(2)?, c.slice(3)?),
                _ => (&cs_before[(step - 1) * state..], &h_before[(step - 1) * state..]),
            };
            product(c.par(), matrix(h_prev, batch, units)?, by_h, (&mut *rows, width), None, true)?;
            activate(c.par(), gates, units, cs_prev, rows, [i, cs, f, o, ci, co, h]);
        }
    }
    Ok(())
}

fn run_grad(c: &mut OpCall<'_>, lstm: Lstm) -> Result<()> {
    let (time, steps, sizes) = sequence(c)?;
    let Sizes { batch, units, .. } = sizes;
    for (i, name) in ["i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad"].into_iter().enumerate() {
        expect(c, 9 + i, name, &[time, batch, units])?;
    }
    let zeros = |i: usize| Tensor::zeros(DataType::Float, c.shape(i)?.clone());
    let mut grads = reserve::try_collect((1..9).map(zeros))?;
    if sizes.state() > 0 && steps > 0 {
        let slices = reserve::try_collect(grads.iter_mut().map(|t| t.as_mut_slice::<f32>()))?;
        let Ok(slices) = <[&mut [f32]; 8]>::try_from(slices) else {
            return Err(internal("an LSTM has eight gradients"));
        };
        backward(c, &lstm.gates(c, 5)?, sizes, steps, slices)?;
    }
    for (i, t) in grads.into_iter().enumerate() {
        c.set(i, t);
    }
    Ok(())
}

fn backward(
    c: &OpCall<'_>,
    gates: &LstmGates<'_>,
    sizes: Sizes,
    steps: usize,
    grads: [&mut [f32]; 8],
) -> Result<()> {
    let (Sizes { batch, inputs, units }, state) = (sizes, sizes.state());
    let [x_grad, cs_prev_grad, h_prev_grad, w_grad, wci_grad, wcf_grad, wco_grad, b_grad] = grads;
    let width = 5 * units;
    let most = blocks(steps, batch).next().map_or(0, |block| block.len());
    let rows = most.checked_mul(batch).ok_or_else(|| invalid!("a batch of {batch} is too large"))?;
    let mut rows = Tensor::uninit(DataType::Float, Shape::new(&[rows, width])?)?;
    let rows = rows.as_mut_slice::<f32>()?;
    let slice = |i: usize| c.slice::<f32>(i);
    let (x, cs, h) = (slice(1)?, slice(10)?, slice(15)?);
    let [by_x, by_h] = by_input_and_state(slice(4)?, inputs, units, 4 * units)?;
    let (w_grad_x, w_grad_h) = w_grad.split_at_mut(inputs * 4 * units);
    for block in blocks(steps, batch).rev() {
        for step in block.clone().rev() {
            let at = step * state..(step + 1) * state;
            let of = |i: usize| slice(i).map(|all| &all[at.clone()]);
            let cs_prev = if step == 0 { slice(2)? } else { &cs[(step - 1) * state..step * state] };
            // What flows back from the step after this one is added to the gradients given.
            add(cs_prev_grad, of(16)?);
            add(h_prev_grad, of(17)?);
            let here = &mut rows[(step - block.start) * batch * width..][..batch * width];
            let step = LstmStep { i: of(9)?, cs: of(10)?, f: of(11)?, o: of(12)?, ci: of(13)?, co: of(14)? };
            step_gradients(c.par(), gates, units, step, cs_prev, [&*cs_prev_grad, &*h_prev_grad], here);
            add_peepholes(
                gates,
                units,
                here,
                cs_prev,
                step.cs,
                [&mut *wci_grad, &mut *wcf_grad, &mut *wco_grad],
            );
            for (prev, row) in cs_prev_grad.chunks_exact_mut(units).zip(here.chunks_exact(width)) {
                prev.copy_from_slice(&row[4 * units..]);
            }
            let d = columns(here, batch, 4 * units, width)?;
            product(c.par(), d, by_h.t(), (&mut *h_prev_grad, units), None, false)?;
        }
        let n = block.len() * batch;
        let d = columns(rows, n, 4 * units, width)?;
        let inside = block.start * batch * inputs..block.end * batch * inputs;
        product(c.par(), d, by_x.t(), (&mut x_grad[inside.clone()], inputs), None, false)?;
        product(c.par(), matrix(&x[inside], n, inputs)?.t(), d, (&mut *w_grad_x, 4 * units), None, true)?;
        // The first step's previous output is an input of its own.
        if block.start == 0 {
            let first = columns(rows, batch, 4 * units, width)?;
            let h_prev = matrix(slice(3)?, batch, units)?;
            product(c.par(), h_prev.t(), first, (&mut *w_grad_h, 4 * units), None, true)?;
        }
        let from = block.start.max(1);
        if from < block.end {
            let n = (block.end - from) * batch;
            let before = matrix(&h[(from - 1) * state..(block.end - 1) * state], n, units)?;
            let rest = columns(&rows[(from - block.start) * batch * width..], n, 4 * units, width)?;
            product(c.par(), before.t(), rest, (&mut *w_grad_h, 4 * units), None, true)?;
        }
        add_rows(&rows[..n * width], width, b_grad);
    }
    Ok(())
}

fn add(sums: &mut [f32], values: &[f32]) {
    sums.iter_mut().zip(values).for_each(|(sum, x)| *sum += x);
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::call;

    /// More steps than a block has: the gradients of sum(cs) + 2 sum(h) against differences.
    #[test]
    fn gradients_flow_through_blocks_of_steps() {
        for (op, peephole) in [("BlockLSTM", true), ("BlockLSTMV2", false)] {
            let mut r = CaseGen::new(5);
            let (time, batch) = (7, 200);
            let shapes: [&[usize]; 8] =
                [&[time, batch, 2], &[batch, 2], &[batch, 2], &[4, 8], &[2], &[2], &[2], &[8]];
            let mut inputs = vec![Tensor::scalar(6i64)];
            inputs.extend(shapes.map(|s| r.range(s, -0.5, 0.5)));
            let attrs = [("use_peephole", Attr::Bool(peephole))];
            let outputs = call(op, &inputs, &attrs).unwrap();
            let value = |inputs: &[Tensor]| -> f64 {
                let out = call(op, inputs, &attrs).unwrap();
                let sum =
                    |t: &Tensor| t.as_slice::<f32>().unwrap().iter().map(|v| f64::from(*v)).sum::<f64>();
                sum(&out[1]) + 2.0 * sum(&out[6])
            };
            let ones = |v: f32| Tensor::full(Shape::new(&[time, batch, 2]).unwrap(), v).unwrap();
            let all: Vec<Tensor> =
                inputs.iter().chain(&outputs).cloned().chain([ones(1.0), ones(2.0)]).collect();
            let grad_op = if op.ends_with("V2") { "BlockLSTMGradV2" } else { "BlockLSTMGrad" };
            let grads = call(grad_op, &all, &attrs).unwrap();
            for (i, grad) in grads.iter().enumerate() {
                let at = grad.elements() / 2;
                let moved = |by: f32| {
                    let mut inputs = inputs.clone();
                    inputs[i + 1].as_mut_slice::<f32>().unwrap()[at] += by;
                    value(&inputs)
                };
                let slope = (moved(1e-2) - moved(-1e-2)) / 2e-2;
                let got = f64::from(grad.as_slice::<f32>().unwrap()[at]);
                assert!((slope - got).abs() < 2e-2 * (1.0 + slope.abs()), "{op} {i}: {slope}, {got}");
            }
        }
    }
}
