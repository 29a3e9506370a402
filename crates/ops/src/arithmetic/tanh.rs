//! `Tanh`: the hyperbolic tangent.

use crate::elementwise::unary_tensor;
use crate::gradients::conj_y;
use crate::prelude::*;
use thalweg_math::elementary;

pub static TANH: Op = Op {
    name: "Tanh",
    doc: "tanh(x), elementwise.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double, complex64, complex128}"],
    shape: same_as_input,
    grad: Rule(|g| {
        let (y, dy) = (conj_y(g, 0)?, g.dy()?);
        Ok(vec![g.binary("TanhGrad", y, dy)?.into()])
    }),
    kernels: &[
        cpu_row!([("T", DataType::Float)], Make::Plain(run_float)),
        cpu_row!([("T", DataType::Double)], Make::Plain(run::<f64>)),
        cpu_row!([("T", DataType::Half)], Make::Plain(run::<f16>)),
        cpu_row!([("T", DataType::Bfloat16)], Make::Plain(run::<bf16>)),
        cpu_row!([("T", DataType::Complex64)], Make::Plain(run_complex::<Complex32>)),
        cpu_row!([("T", DataType::Complex128)], Make::Plain(run_complex::<ComplexDouble>)),
    ],
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    tiles: &[Tile::F32Unary(elementary::tanh), Tile::F64Unary(tile)],
    ..Op::PURE
};

fn run_float(c: &mut OpCall<'_>) -> Result<()> {
    unary_tensor(c, &elementary::tanh)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(f32::tanh, f64::tanh))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.map(|z| z.tanh()))
}

fn tile(x: &[f64], y: &mut [f64]) {
    tile1(x, y, f64::tanh)
}
