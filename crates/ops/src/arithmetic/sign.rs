//! `Sign`: -1, 0 or 1.

use crate::prelude::*;

pub static SIGN: Op = Op {
    name: "Sign",
    doc: "The sign of x, elementwise: -1, 0 or 1; x / |x| for complex x.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16, i32, i64, i8, i16; run_complex: T in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let x = g.x[0];
    Ok(vec![g.unary("ZerosLike", x)?.into()])
}

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| {
        if x > T::ZERO {
            T::ONE
        } else if x < T::ZERO {
            T::ONE.neg()
        } else if x.is_nan() {
            x
        } else {
            T::ZERO
        }
    })
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.map(|z| if z.norm() == 0.0 { z } else { z / z.norm() }))
}
