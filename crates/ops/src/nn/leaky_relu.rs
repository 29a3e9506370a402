//! `LeakyRelu` and `LeakyReluGrad`: negative numbers are made smaller.

use crate::elementwise::binary_alike;
use crate::prelude::*;

pub static LEAKY_RELU: Op = Op {
    name: "LeakyRelu",
    doc: "features where positive, alpha * features elsewhere.",
    inputs: &["features: T"],
    outputs: &["activations: T"],
    attrs: &["alpha: float = 0.2", "T: {half, bfloat16, float, double} = DT_FLOAT"],
    shape: same_as_input,
    grad: Rule(|g| {
        let (x, dy) = (g.x[0], g.dy()?);
        Ok(vec![leaky_grad(g, dy, x)?.into()])
    }),
    kernels: cpu!(make prepare: T in f32, f64, f16, bf16),
    cases: |r| {
        vec![Case::new(vec![r.tensor(&[2, 3])]), Case::new(vec![r.tensor(&[2, 3])]).attr("alpha", 1.5f32)]
    },
    ..Op::PURE
};

pub static LEAKY_RELU_GRAD: Op = Op {
    name: "LeakyReluGrad",
    doc: "gradients where features are positive, alpha * gradients elsewhere.",
    inputs: &["gradients: T", "features: T"],
    outputs: &["backprops: T"],
    shape: shape_call::all_inputs_alike,
    grad: Rule(|g| {
        let (x, d) = (g.x[1], g.dy()?);
        Ok(vec![leaky_grad(g, d, x)?.into(), g.unary("ZerosLike", x)?.into()])
    }),
    kernels: cpu!(make prepare_grad: T in f32, f64, f16, bf16),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])])],
    ..LEAKY_RELU
};

fn leaky_grad(g: &mut GradCall<'_>, dy: Output, x: Output) -> Result<Output> {
    let alpha = g.attrs.float("alpha")?;
    g.op("LeakyReluGrad", [dy.into(), x.into()], &[("alpha", Attr::Float(alpha))])
}

fn prepare<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let alpha = T::from_f64(node.attrs.float("alpha")? as f64);
    Ok(Box::new(move |c: &mut OpCall<'_>| unary(c, move |x: T| if x > T::ZERO { x } else { alpha.mul(x) })))
}

fn prepare_grad<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let alpha = T::from_f64(node.attrs.float("alpha")? as f64);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        binary_alike(c, move |dy: T, x: T| if x > T::ZERO { dy } else { alpha.mul(dy) })
    }))
}
