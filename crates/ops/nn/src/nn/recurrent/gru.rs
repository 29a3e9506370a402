//! `GRUBlockCell`: one step of a GRU; and its gradient.

use super::product::{by_input_and_state, columns, matrix, product};
use super::shapes::{Sizes, expect};
use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use thalweg_math::recurrent::{gru_gates, gru_state};

pub static GRU_BLOCK_CELL: Op = Op {
    name: "GRUBlockCell",
    doc: "One step of a GRU: reset gate r, update gate u, candidate c, and the state h = u h_prev + (1 - u) c.",
    inputs: &["x: T", "h_prev: T", "w_ru: T", "w_c: T", "b_ru: T", "b_c: T"],
    outputs: &["r: T", "u: T", "c: T", "h: T"],
    attrs: &["T: {float}"],
    shape: |c| {
        let (x, state) = (c.rank(0, 2)?, c.rank(1, 2)?);
        c.all([merge_dim(x.dim(0), state.dim(0))?, state.dim(1)].into_iter().collect())
    },
    grad: Missing,
    kernels: cpu!(run),
    cases: |r| vec![Case::new(inputs(r))],
    expensive: true,
    ..Op::PURE
};

pub static GRU_BLOCK_CELL_GRAD: Op = Op {
    name: "GRUBlockCellGrad",
    doc: "The gradient of GRUBlockCell by x, the previous state, and the pre-activations of c and of r and u.",
    inputs: &[
        "x: T",
        "h_prev: T",
        "w_ru: T",
        "w_c: T",
        "b_ru: T",
        "b_c: T",
        "r: T",
        "u: T",
        "c: T",
        "d_h: T",
    ],
    outputs: &["d_x: T", "d_h_prev: T", "d_c_bar: T", "d_r_bar_u_bar: T"],
    shape: |c| {
        let (x, state) = (c.rank(0, 2)?, c.rank(1, 2)?);
        let (batch, units) = (merge_dim(x.dim(0), state.dim(0))?, state.dim(1));
        let two = if units < 0 { -1 } else { units.saturating_mul(2) };
        let shape = |n: i64| [batch, n].into_iter().collect();
        Ok(vec![shape(x.dim(1)), shape(units), shape(units), shape(two)])
    },
    kernels: cpu!(run_grad),
    cases: |r| {
        let steps = (0..4).map(|_| r.range(&[2, 2], 0.1, 0.9)).collect();
        vec![Case::new([inputs(r), steps].concat())]
    },
    ..GRU_BLOCK_CELL
};

fn inputs(r: &mut CaseGen) -> Vec<Tensor> {
    let shapes: [&[usize]; 6] = [&[2, 3], &[2, 2], &[5, 4], &[5, 2], &[4], &[2]];
    shapes.map(|s| r.tensor(s)).to_vec()
}

fn sizes(c: &OpCall<'_>) -> Result<Sizes> {
    let (_, sizes) = Sizes::of(c, 0, 1, false)?;
    let Sizes { inputs, units, .. } = sizes;
    expect(c, 2, "w_ru", &[inputs + units, 2 * units])?;
    expect(c, 3, "w_c", &[inputs + units, units])?;
    expect(c, 4, "b_ru", &[2 * units])?;
    expect(c, 5, "b_c", &[units])?;
    Ok(sizes)
}

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let sizes = sizes(c)?;
    let Sizes { batch, inputs, units } = sizes;
    let state = c.shape(1)?.clone();
    let matrices = |n: usize| Tensor::uninit(DataType::Float, Shape::new(&[batch, n])?);
    let [mut r, mut u, mut cand, mut h] =
        [matrices(units)?, matrices(units)?, matrices(units)?, matrices(units)?];
    if sizes.state() > 0 {
        let (x, h_prev) = (c.slice::<f32>(0)?, c.slice::<f32>(1)?);
        let x = matrix(x, batch, inputs)?;
        // Reset and update gate, and room to compute them.
        let (mut rows, width) = (matrices(4 * units)?, 4 * units);
        let rows = rows.as_mut_slice::<f32>()?;
        let [by_x, by_h] = by_input_and_state(c.slice(2)?, inputs, units, 2 * units)?;
        product(c.par(), x, by_x, (&mut *rows, width), Some(c.slice(4)?), false)?;
        product(c.par(), matrix(h_prev, batch, units)?, by_h, (&mut *rows, width), None, true)?;
        for_chunks_of(c.par(), rows, width, 4096usize.div_ceil(width), &|_, rows| {
            for row in rows.chunks_exact_mut(width) {
                let (gates, scratch) = row.split_at_mut(2 * units);
                gru_gates(gates, scratch);
            }
        });
        split(rows, width, units, 0, r.as_mut_slice()?);
        split(rows, width, units, units, u.as_mut_slice()?);
        let (r, u) = (r.as_slice::<f32>()?, u.as_slice::<f32>()?);
        let reset = Tensor::build(state, |out: &mut [f32]| {
            out.iter_mut().zip(r.iter().zip(h_prev)).for_each(|(out, (r, h))| *out = r * h);
        })?;
        let [by_x, by_h] = by_input_and_state(c.slice(3)?, inputs, units, units)?;
        let cand = cand.as_mut_slice::<f32>()?;
        product(c.par(), x, by_x, (&mut *cand, units), Some(c.slice(5)?), false)?;
        product(c.par(), matrix(reset.as_slice()?, batch, units)?, by_h, (&mut *cand, units), None, true)?;
        gru_state(u, h_prev, cand, h.as_mut_slice::<f32>()?);
    }
    for (i, t) in [r, u, cand, h].into_iter().enumerate() {
        c.set(i, t);
    }
    Ok(())
}

/// Copies a vector out of each row.
fn split(rows: &[f32], width: usize, units: usize, at: usize, out: &mut [f32]) {
    for (row, out) in rows.chunks_exact(width).zip(out.chunks_exact_mut(units)) {
        out.copy_from_slice(&row[at..at + units]);
    }
}

fn run_grad(c: &mut OpCall<'_>) -> Result<()> {
    let sizes = sizes(c)?;
    let Sizes { batch, inputs, units } = sizes;
    for (i, name) in ["r", "u", "c", "d_h"].into_iter().enumerate() {
        expect(c, 6 + i, name, &[batch, units])?;
    }
    let zeros = |n: usize| Tensor::zeros(DataType::Float, Shape::new(&[batch, n])?);
    let (mut d_x, mut d_h_prev, mut d_c, mut d_ru) =
        (zeros(inputs)?, zeros(units)?, zeros(units)?, zeros(2 * units)?);
    if sizes.state() > 0 {
        let slice = |i: usize| c.slice::<f32>(i);
        let (h_prev, r, u, cand, d_h) = (slice(1)?, slice(6)?, slice(7)?, slice(8)?, slice(9)?);
        let candidate = d_c.as_mut_slice::<f32>()?;
        for (k, d) in candidate.iter_mut().enumerate() {
            *d = d_h[k] * (1.0 - u[k]) * (1.0 - cand[k] * cand[k]);
        }
        let [by_x, by_h] = by_input_and_state(slice(3)?, inputs, units, units)?;
        let d = matrix(candidate, batch, units)?;
        let into = d_x.as_mut_slice::<f32>()?;
        product(c.par(), d, by_x.t(), (&mut *into, inputs), None, false)?;
        // By the reset state r h_prev.
        let mut reset = zeros(units)?;
        let reset = reset.as_mut_slice::<f32>()?;
        product(c.par(), d, by_h.t(), (&mut *reset, units), None, false)?;
        let (gates, previous) = (d_ru.as_mut_slice::<f32>()?, d_h_prev.as_mut_slice::<f32>()?);
        for (k, reset) in reset.iter().enumerate() {
            let (row, unit) = (k / units * 2 * units, k % units);
            gates[row + unit] = reset * h_prev[k] * r[k] * (1.0 - r[k]);
            gates[row + units + unit] = d_h[k] * (h_prev[k] - cand[k]) * u[k] * (1.0 - u[k]);
            previous[k] = reset * r[k] + d_h[k] * u[k];
        }
        let [by_x, by_h] = by_input_and_state(slice(2)?, inputs, units, 2 * units)?;
        let d = columns(gates, batch, 2 * units, 2 * units)?;
        product(c.par(), d, by_x.t(), (into, inputs), None, true)?;
        product(c.par(), d, by_h.t(), (previous, units), None, true)?;
    }
    for (i, t) in [d_x, d_h_prev, d_c, d_ru].into_iter().enumerate() {
        c.set(i, t);
    }
    Ok(())
}
