//! `ReluGrad`: the gradient of `Relu`.

use crate::elementwise::binary_alike;
use crate::prelude::*;

pub static RELU_GRAD: Op = Op {
    name: "ReluGrad",
    doc: "gradients where features are positive, 0 elsewhere.",
    inputs: &["gradients: T", "features: T"],
    outputs: &["backprops: T"],
    attrs: &["T: realnumbertype"],
    shape: shape_call::all_inputs_alike,
    grad: Rule(grad),
    kernels: cpu!(run: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])])],
    ..Op::PURE
};

fn grad(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let (x, d) = (g.x[1], g.dy()?);
    Ok(vec![g.binary("ReluGrad", d, x)?.into(), g.unary("ZerosLike", x)?.into()])
}

fn run<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    // A product, as in TensorFlow: a gradient that is not finite shows, whatever the feature.
    binary_alike(c, |dy: T, x: T| dy.mul(if x > T::ZERO { T::ONE } else { T::ZERO }))
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, floats};

    #[test]
    fn a_gradient_that_is_not_finite_shows_where_the_feature_is_negative() {
        let (dy, x) = (floats(&[3], &[f32::INFINITY, f32::NAN, -2.0]), floats(&[3], &[-1.0, 0.0, -1.0]));
        for op in ["ReluGrad", "Relu6Grad"] {
            let z = call(op, &[dy.clone(), x.clone()], &[]).unwrap();
            let z = z[0].as_slice::<f32>().unwrap();
            assert!(z[0].is_nan() && z[1].is_nan() && z[2] == 0.0 && z[2].is_sign_negative(), "{op} {z:?}");
        }
    }
}
