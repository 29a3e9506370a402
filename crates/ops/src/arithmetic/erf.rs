//! `Erf`: the error function.

use crate::elementwise::unary_tensor;
use crate::gradients::{conj_x, times_dy};
use crate::prelude::*;
use thalweg_math::elementary;

pub static ERF: Op = Op {
    name: "Erf",
    doc: "The Gauss error function of x, elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double}"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: &[
        cpu_row!([("T", DataType::Float)], Make::Plain(run_float)),
        cpu_row!([("T", DataType::Double)], Make::Plain(run::<f64>)),
        cpu_row!([("T", DataType::Half)], Make::Plain(run::<f16>)),
        cpu_row!([("T", DataType::Bfloat16)], Make::Plain(run::<bf16>)),
    ],
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    tiles: &[Tile::F32Unary(elementary::erf), Tile::F64Unary(tile)],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let x = conj_x(g, 0)?;
    let square = g.unary("Square", x)?;
    let minus = g.unary("Neg", square)?;
    let bell = g.unary("Exp", minus)?;
    let factor = g.number(std::f64::consts::FRAC_2_SQRT_PI, x)?;
    let slope = g.binary("Mul", factor, bell)?;
    times_dy(g, slope)
}

fn run_float(c: &mut OpCall<'_>) -> Result<()> {
    unary_tensor(c, &elementary::erf)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(libm::erff, libm::erf))
}

fn tile(x: &[f64], y: &mut [f64]) {
    tile1(x, y, libm::erf)
}
