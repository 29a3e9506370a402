//! `L2Loss`: half the sum of squares.

use super::squares::{Squared, Squares};
use crate::gradients::times_dy;
use crate::prelude::*;
use thalweg_math::reduce::{Plan, reduce};

pub static L2_LOSS: Op = Op {
    name: "L2Loss",
    doc: "Half the sum of the squares of all elements.",
    inputs: &["t: T"],
    outputs: &["output: T"],
    attrs: &["T: {half, bfloat16, float, double}"],
    shape: shape_call::scalar,
    grad: Rule(|g| {
        let x = g.x[0];
        times_dy(g, x)
    }),
    kernels: cpu!(run: T in f32, f64, f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])]), Case::new(vec![r.tensor(&[0])])],
    ..Op::PURE
};

fn run<T: Squared>(c: &mut OpCall<'_>) -> Result<()> {
    let plan = Plan::new(&[c.input(0)?.elements()], &[true]);
    let mut out = [T::ZERO];
    reduce(c.par(), &plan, &Squares(|sum| sum / 2.0), c.slice::<T>(0)?, &mut out);
    c.set(0, Tensor::scalar(out[0]));
    Ok(())
}
