//! `ReciprocalGrad`, under its old name `InvGrad` too: the gradient of `Reciprocal`.

use crate::elementwise::{binary_alike, if_any};
use crate::gradients::{conj, conj_x};
use crate::prelude::*;

pub static RECIPROCAL_GRAD: Op = Op {
    name: "ReciprocalGrad",
    doc: "-dy * y * y, where y = 1 / x.",
    inputs: &["y: T", "dy: T"],
    outputs: &["z: T"],
    attrs: &["T: {bfloat16, half, float, double, complex64, complex128}"],
    shape: shape_call::all_inputs_alike,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, f16, bf16; run_complex: T in Complex32, ComplexDouble),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])])],
    ..Op::PURE
};

pub static INV_GRAD: Op = Op { name: "InvGrad", ..RECIPROCAL_GRAD };

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (a, b, d) = (conj_x(g, 0)?, g.x[1], g.dy()?);
    let conjugate = conj(g, d)?;
    let minus_two = g.number(-2.0, d)?;
    let scaled = g.binary("Mul", conjugate, minus_two)?;
    let with_b = g.binary("Mul", scaled, b)?;
    Ok(vec![g.binary("Mul", with_b, a)?.into(), g.binary("ReciprocalGrad", a, d)?.into()])
}

fn run<T: Number>(c: &mut OpCall<'_>) -> Result<()> {
    binary_alike(c, |y: T, dy: T| if_any(dy, dy.neg().mul(y.mul(y))))
}

fn run_complex<T: ComplexNumber>(c: &mut OpCall<'_>) -> Result<()> {
    binary_alike(c, |y: T, dy: T| if_any(dy, dy.neg().mul(y.mul(y).conjugate())))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use thalweg_core::error::Code;

    #[test]
    fn where_no_gradient_comes_the_slope_does_not_matter() {
        for op in ["SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"] {
            let (y, dy) = (floats(&[3], &[f32::INFINITY, f32::NAN, 0.0]), floats(&[3], &[0.0, -0.0, 0.0]));
            assert_eq!(call(op, &[y, dy], &[]).unwrap()[0].as_slice::<f32>().unwrap(), &[0.0; 3], "{op}");
        }
    }

    #[test]
    fn gradient_ops_refuse_inputs_of_different_shapes() {
        for op in ["SqrtGrad", "RsqrtGrad", "TanhGrad", "SigmoidGrad", "ReciprocalGrad", "InvGrad"] {
            for dy in [floats(&[0], &[]), floats(&[], &[1.0]), floats(&[2, 1], &[1.0, 1.0])] {
                assert_eq!(
                    code(call(op, &[floats(&[2], &[1.0, 2.0]), dy], &[])),
                    Code::InvalidArgument,
                    "{op}"
                );
            }
        }
    }
}
