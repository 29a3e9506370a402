//! `Acosh`: the inverse hyperbolic cosine.

use crate::gradients::{conj_y, times_dy};
use crate::prelude::*;

pub static ACOSH: Op = Op {
    name: "Acosh",
    doc: "acosh(x), elementwise, for x from 1.",
    inputs: &["x: T"],
    outputs: &["y: T"],
    attrs: &["T: {bfloat16, half, float, double, complex64, complex128}"],
    shape: same_as_input,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_complex: T in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.range(&[2, 3], 1.2, 3.0)])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let y = conj_y(g, 0)?;
    let sinh = g.unary("Sinh", y)?;
    let slope = g.unary("Reciprocal", sinh)?;
    times_dy(g, slope)
}

fn run<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.via(|x| acosh(x as f64) as f32, acosh))
}

/// Without the overflow of `f64::acosh`, which doubles x before it takes the logarithm.
fn acosh(x: f64) -> f64 {
    if x > 1e9 { x.ln() + std::f64::consts::LN_2 } else { x.acosh() }
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    unary(c, |x: T| x.map(|z| z.acosh()))
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::call;

    #[test]
    fn the_largest_numbers_have_finite_inverses() {
        for op in ["Acosh", "Asinh"] {
            let (single, double) = (Tensor::scalar(f32::MAX), Tensor::scalar(f64::MAX));
            let single = call(op, &[single], &[]).unwrap()[0].to_scalar::<f32>().unwrap();
            let double = call(op, &[double], &[]).unwrap()[0].to_scalar::<f64>().unwrap();
            assert!(
                (single - 89.415_99).abs() < 1e-4 && (double - 710.475_860_073_943_9).abs() < 1e-9,
                "{op}"
            );
        }
    }
}
