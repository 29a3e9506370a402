//! Activations, and the ops of their gradients.

use crate::elementwise::binary_alike;
use crate::gradients::slope_at_x;
use crate::prelude::*;
use thalweg_math::elementary;

pub static OPS: &[&Op] = &[
    &ELU,
    &ELU_GRAD,
    &LEAKY_RELU,
    &LEAKY_RELU_GRAD,
    &RELU,
    &RELU_GRAD,
    &RELU6,
    &RELU6_GRAD,
    &SELU,
    &SELU_GRAD,
    &SOFTPLUS,
    &SOFTPLUS_GRAD,
    &SOFTSIGN,
    &SOFTSIGN_GRAD,
];

pub static RELU: Op = Op {
    name: "Relu",
    doc: "max(features, 0), elementwise.",
    attrs: &[
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8}",
    ],
    grad: Rule(|g| grad_op(g, "ReluGrad")),
    epilogue: Some(Epilogue { product: &[0], after_another: true }),
    ..unary!(ACTIVATION, fused, T: Real in floats, integers => |x| x.larger(T::ZERO))
};

/// A product, as in TensorFlow: a non-finite gradient propagates, whatever the feature.
static RELU_GRAD: Op = Op {
    name: "ReluGrad",
    doc: "gradients where features are positive, 0 elsewhere.",
    attrs: &["T: realnumbertype"],
    grad: Rule(|g| linear_in_gradients(g, "ReluGrad")),
    ..binary_alike!(ACTIVATION_GRAD,
                    T: Real in floats, integers => |dy, x| dy.mul(if x > T::ZERO { T::ONE } else { T::ZERO }))
};

pub static RELU6: Op = Op {
    name: "Relu6",
    doc: "min(max(features, 0), 6), elementwise.",
    attrs: &["T: realnumbertype"],
    grad: Rule(|g| grad_op(g, "Relu6Grad")),
    ..unary!(ACTIVATION, T: Real in floats, integers => |x| x.larger(T::ZERO).smaller(T::from_i64(6)))
};

static RELU6_GRAD: Op = Op {
    name: "Relu6Grad",
    doc: "gradients where features are between 0 and 6, 0 elsewhere.",
    attrs: &["T: realnumbertype"],
    grad: Rule(|g| linear_in_gradients(g, "Relu6Grad")),
    kernels: cpu!(relu6_grad: T in f32, f64, i32, i64, f16, bf16, u8, u16, u32, u64, i8, i16),
    ..ACTIVATION_GRAD
};

fn relu6_grad<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let six = T::from_i64(6);
    binary_alike(c, move |dy: T, x: T| dy.mul(if x > T::ZERO && x < six { T::ONE } else { T::ZERO }))
}

pub static LEAKY_RELU: Op = Op {
    name: "LeakyRelu",
    doc: "features where positive, alpha * features elsewhere.",
    attrs: &["alpha: float = 0.2", "T: {half, bfloat16, float, double} = DT_FLOAT"],
    grad: Rule(|g| {
        let (x, dy) = (g.x[0], g.dy()?);
        Ok(vec![leaky_grad(g, dy, x)?.into()])
    }),
    kernels: cpu!(make leaky_relu: T in f32, f64, f16, bf16),
    cases: |r| {
        vec![Case::new(vec![r.tensor(&[2, 3])]), Case::new(vec![r.tensor(&[2, 3])]).attr("alpha", 1.5f32)]
    },
    ..ACTIVATION
};

static LEAKY_RELU_GRAD: Op = Op {
    name: "LeakyReluGrad",
    doc: "gradients where features are positive, alpha * gradients elsewhere.",
    attrs: LEAKY_RELU.attrs,
    grad: Rule(|g| {
        let (x, d) = (g.x[1], g.dy()?);
        Ok(vec![leaky_grad(g, d, x)?.into(), g.unary("ZerosLike", x)?.into()])
    }),
    kernels: cpu!(make leaky_relu_grad: T in f32, f64, f16, bf16),
    ..ACTIVATION_GRAD
};

fn leaky_grad(g: &mut GradCall<'_>, dy: Output, x: Output) -> Result<Output> {
    let alpha = g.attrs.float("alpha")?;
    g.op("LeakyReluGrad", [dy.into(), x.into()], &[("alpha", Attr::Float(alpha))])
}

fn leaky_relu<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let alpha = T::from_f64(node.attrs.float("alpha")? as f64);
    Ok(Box::new(move |c: &mut OpCall<'_>| unary(c, move |x: T| if x > T::ZERO { x } else { alpha.mul(x) })))
}

fn leaky_relu_grad<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let alpha = T::from_f64(node.attrs.float("alpha")? as f64);
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        binary_alike(c, move |dy: T, x: T| if x > T::ZERO { dy } else { alpha.mul(dy) })
    }))
}

pub static ELU: Op = Op {
    name: "Elu",
    doc: "features where positive, exp(features) - 1 elsewhere.",
    grad: Rule(|g| grad_op(g, "EluGrad")),
    ..unary!(ACTIVATION, fused, f32 by elementary::elu,
             T: Float in floats_but_f32 => |x| if x < T::ZERO { x.via(f32::exp_m1, f64::exp_m1) } else { x })
};

static ELU_GRAD: Op = Op {
    name: "EluGrad",
    doc: "gradients * (outputs + 1) where outputs are negative, gradients elsewhere.",
    inputs: &["gradients: T", "outputs: T"],
    grad: Rule(|g| linear_below_zero(g, "EluGrad")),
    ..binary_alike!(ACTIVATION_GRAD,
                    T: Float in floats => |dy, y| if y < T::ZERO { dy.mul(y.add(T::ONE)) } else { dy })
};

/// The constants of self-normalising networks, from the paper.
const SCALE: f64 = 1.0507009873554804934193349852946;
const ALPHA: f64 = 1.6732632423543772848170429916717;

static SELU: Op = Op {
    name: "Selu",
    doc: "scale * features where positive, scale * alpha * (exp(features) - 1) elsewhere.",
    grad: Rule(|g| grad_op(g, "SeluGrad")),
    kernels: cpu!(selu: T in f32, f64, f16, bf16),
    ..ACTIVATION
};

static SELU_GRAD: Op = Op {
    name: "SeluGrad",
    doc: "gradients * (outputs + scale * alpha) where outputs are negative, gradients * scale elsewhere.",
    inputs: &["gradients: T", "outputs: T"],
    grad: Rule(|g| linear_below_zero(g, "SeluGrad")),
    kernels: cpu!(selu_grad: T in f32, f64, f16, bf16),
    ..ACTIVATION_GRAD
};

fn selu<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let (scale, scaled_alpha) = (T::from_f64(SCALE), T::from_f64(SCALE * ALPHA));
    let below = move |x: T| scaled_alpha.mul(x.via(f32::exp_m1, f64::exp_m1));
    unary(c, move |x: T| if x < T::ZERO { below(x) } else { scale.mul(x) })
}

fn selu_grad<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    let (scale, scaled_alpha) = (T::from_f64(SCALE), T::from_f64(SCALE * ALPHA));
    binary_alike(c, move |dy: T, y: T| if y < T::ZERO { dy.mul(y.add(scaled_alpha)) } else { dy.mul(scale) })
}

static SOFTPLUS: Op = Op {
    name: "Softplus",
    doc: "log(exp(features) + 1), elementwise.",
    grad: Rule(|g| slope_at_x(g, |g, x| g.unary("Sigmoid", x))),
    ..unary!(ACTIVATION, fused, f32 by elementary::softplus, T: Float in floats_but_f32 => |x| softplus(x))
};

#[inline]
fn softplus<T: Float>(x: T) -> T {
    let near = x.absolute().neg().via(f32::exp, f64::exp).via(f32::ln_1p, f64::ln_1p);
    x.larger(T::ZERO).add(near)
}

static SOFTPLUS_GRAD: Op = Op {
    name: "SoftplusGrad",
    doc: "gradients / (exp(-features) + 1), elementwise.",
    grad: Rule(|g| {
        let (dy, x, d) = (g.x[0], g.x[1], g.dy()?);
        let minus = g.unary("Neg", x)?;
        let (up, down, two) = (g.unary("Exp", x)?, g.unary("Exp", minus)?, g.number(2.0, x)?);
        let sum = g.binary("AddV2", down, two)?;
        let sum = g.binary("AddV2", sum, up)?;
        let product = g.binary("Mul", d, dy)?;
        Ok(vec![g.binary("SoftplusGrad", d, x)?.into(), g.binary("RealDiv", product, sum)?.into()])
    }),
    ..binary_alike!(ACTIVATION_GRAD,
                    T: Float in floats => |dy, x| dy.div(x.neg().via(f32::exp, f64::exp).add(T::ONE)))
};

static SOFTSIGN: Op = Op {
    name: "Softsign",
    doc: "features / (|features| + 1), elementwise.",
    grad: Rule(|g| {
        let (x, dy) = (g.x[0], g.dy()?);
        Ok(vec![g.binary("SoftsignGrad", dy, x)?.into()])
    }),
    ..unary!(ACTIVATION, T: Float in floats => |x| x.div(T::ONE.add(x.absolute())))
};

static SOFTSIGN_GRAD: Op = Op {
    name: "SoftsignGrad",
    doc: "gradients / (|features| + 1)^2, elementwise.",
    ..binary_alike!(ACTIVATION_GRAD, T: Float in floats => |dy, x| {
        let size = T::ONE.add(x.absolute());
        dy.div(size.mul(size))
    })
};

/// The gradient by `op`, from dy and the activations.
fn grad_op(g: &mut GradCall<'_>, op: &'static str) -> Result<Vec<Grad>> {
    let (y, dy) = (g.y[0], g.dy()?);
    Ok(vec![g.binary(op, dy, y)?.into()])
}

/// The gradient of a piecewise linear gradient op: zero for its features.
fn linear_in_gradients(g: &mut GradCall<'_>, op: &'static str) -> Result<Vec<Grad>> {
    let (x, d) = (g.x[1], g.dy()?);
    Ok(vec![g.binary(op, d, x)?.into(), g.unary("ZerosLike", x)?.into()])
}

/// The gradient of a gradient op that is linear in the outputs where they are negative, and does not depend on them elsewhere.
fn linear_below_zero(g: &mut GradCall<'_>, op: &'static str) -> Result<Vec<Grad>> {
    let (dy, y, d) = (g.x[0], g.x[1], g.dy()?);
    let (zero, zeros) = (g.number(0.0, y)?, g.unary("ZerosLike", y)?);
    let product = g.binary("Mul", d, dy)?;
    let below = g.binary("Less", y, zero)?;
    let bend = g.op("Select", [below.into(), product.into(), zeros.into()], &[])?;
    Ok(vec![g.binary(op, d, y)?.into(), bend.into()])
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
