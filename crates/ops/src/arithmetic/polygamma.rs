//! `Polygamma` and `Zeta`: the derivatives of `Digamma`, and the Hurwitz zeta function.

use crate::gradients::sum_to_shape_of;
use crate::prelude::*;
use thalweg_math::special;

pub static POLYGAMMA: Op = Op {
    name: "Polygamma",
    doc: "The derivative of order a of digamma at x, elementwise; shapes broadcast.",
    inputs: &["a: T", "x: T"],
    outputs: &["z: T"],
    attrs: &["T: {float, double}"],
    shape: broadcast,
    grad: Rule(|g| {
        let (a, x, dz) = (g.x[0], g.x[1], g.dy()?);
        let one = g.number(1.0, a)?;
        let next = g.binary("AddV2", a, one)?;
        let slope = g.binary("Polygamma", next, x)?;
        let dx = g.binary("Mul", dz, slope)?;
        Ok(vec![Grad::None, sum_to_shape_of(g, dx, x, a)?.into()])
    }),
    kernels: cpu!(polygamma: T in f32, f64),
    cases: |r| {
        let order = Tensor::scalar(1f32);
        vec![Case::new(vec![order, r.positive(&[2, 3])]).without_difference(&[0])]
    },
    ..Op::PURE
};

pub static ZETA: Op = Op {
    name: "Zeta",
    doc: "The sum of (q + k)^-x over all k from 0, elementwise; shapes broadcast.",
    inputs: &["x: T", "q: T"],
    grad: Rule(|g| {
        let (x, q, dz) = (g.x[0], g.x[1], g.dy()?);
        let one = g.number(1.0, x)?;
        let next = g.binary("AddV2", x, one)?;
        let sum = g.binary("Zeta", next, q)?;
        let minus = g.unary("Neg", x)?;
        let slope = g.binary("Mul", minus, sum)?;
        let dq = g.binary("Mul", slope, dz)?;
        Ok(vec![Grad::None, sum_to_shape_of(g, dq, q, x)?.into()])
    }),
    kernels: cpu!(zeta: T in f32, f64),
    cases: |r| vec![Case::new(vec![r.range(&[], 1.5, 3.0), r.positive(&[2, 3])]).without_difference(&[0])],
    ..POLYGAMMA
};

fn polygamma<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |a: T, x: T| T::from_f64(special::polygamma(a.to_f64(), x.to_f64())))
}

fn zeta<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    binary(c, |x: T, q: T| T::from_f64(special::zeta(x.to_f64(), q.to_f64())))
}
