//! `FusedBatchNormGrad`: the gradient of `FusedBatchNorm`.

use super::layout::{Channels, by_channel, inverse_deviation, single};
use crate::narrow::in_float;
use crate::prelude::*;
use thalweg_math::normalise::{Affine, gradient_sums};

pub static FUSED_BATCH_NORM_GRAD: Op = Op {
    name: "FusedBatchNormGrad",
    doc: "The gradients of FusedBatchNorm by x, scale and offset; the reserve spaces are the mean and variance it used.",
    inputs: &["y_backprop: T", "x: T", "scale: T", "reserve_space_1: T", "reserve_space_2: T"],
    outputs: &[
        "x_backprop: T",
        "scale_backprop: T",
        "offset_backprop: T",
        "reserve_space_3: T",
        "reserve_space_4: T",
    ],
    attrs: &[
        "T: {float}",
        "epsilon: float = 0.0001",
        "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
        "is_training: bool = true",
    ],
    shape,
    grad: Missing,
    kernels: &[cpu_row!([("T", DataType::Float)], Make::Prepared(prepare))],
    cases: |r| cases(r, false),
    expensive: true,
    ..Op::PURE
};

pub static FUSED_BATCH_NORM_GRAD_V2: Op = Op {
    name: "FusedBatchNormGradV2",
    inputs: &["y_backprop: T", "x: T", "scale: float", "reserve_space_1: U", "reserve_space_2: U"],
    outputs: &[
        "x_backprop: T",
        "scale_backprop: U",
        "offset_backprop: U",
        "reserve_space_3: U",
        "reserve_space_4: U",
    ],
    attrs: &[
        "T: {half, bfloat16, float}",
        "U: {float}",
        "epsilon: float = 0.0001",
        "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
        "is_training: bool = true",
    ],
    kernels: &[
        cpu_row!([("T", DataType::Float)], Make::Prepared(prepare)),
        cpu_row!([("T", DataType::Half)], Make::Prepared(prepare_narrow::<f16>)),
        cpu_row!([("T", DataType::Bfloat16)], Make::Prepared(prepare_narrow::<bf16>)),
    ],
    ..FUSED_BATCH_NORM_GRAD
};

pub static FUSED_BATCH_NORM_GRAD_V3: Op = Op {
    name: "FusedBatchNormGradV3",
    inputs: &[
        "y_backprop: T",
        "x: T",
        "scale: float",
        "reserve_space_1: U",
        "reserve_space_2: U",
        "reserve_space_3: U",
    ],
    outputs: &[
        "x_backprop: T",
        "scale_backprop: U",
        "offset_backprop: U",
        "reserve_space_4: U",
        "reserve_space_5: U",
    ],
    attrs: &[
        "T: {half, bfloat16, float}",
        "U: {float}",
        "epsilon: float = 0.0001",
        "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'",
        "is_training: bool = true",
    ],
    cases: |r| cases(r, true),
    ..FUSED_BATCH_NORM_GRAD_V2
};

fn cases(r: &mut CaseGen, third: bool) -> Vec<Case> {
    let mut case = |x: &[usize]| {
        let mut inputs = vec![r.tensor(x), r.tensor(x), r.tensor(&[3]), r.tensor(&[3]), r.positive(&[3])];
        inputs.extend(third.then(|| r.tensor(&[0])));
        Case::new(inputs)
    };
    vec![
        case(&[2, 3, 2, 3]),
        case(&[2, 3, 2, 3]).attr("is_training", false),
        case(&[2, 3, 2, 2]).attr("data_format", "NCHW"),
    ]
}

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let channels = Channels::of(c.attrs)?;
    let x = c.rank(0, channels.rank)?.merge(&c.rank(1, channels.rank)?)?;
    let mut depth = x.dim(channels.axis());
    for i in 2..5 {
        depth = merge_dim(depth, c.rank(i, 1)?.dim(0))?;
    }
    let by_channel = PartialShape::vector(depth);
    Ok(vec![x, by_channel.clone(), by_channel, PartialShape::unknown(), PartialShape::unknown()])
}

#[derive(Clone, Copy)]
struct Norm {
    channels: Channels,
    epsilon: f32,
    training: bool,
}

impl Norm {
    fn of(attrs: &Attrs) -> Result<Norm> {
        let (epsilon, training) = (attrs.float("epsilon")?, attrs.bool("is_training")?);
        Ok(Norm { channels: Channels::of(attrs)?, epsilon, training })
    }
}

fn prepare(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let norm = Norm::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| run(c, &norm)))
}

fn prepare_narrow<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let norm = Norm::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| in_float::<T>(c, &|c| run(c, &norm))))
}

/// With s the scale, r one by the standard deviation and means over the batch, in training
/// dx = s r (dy - mean(dy) - (x - mean) r^2 mean(dy (x - mean))); otherwise the statistics do not depend on x, and dx = s r dy.
fn run(c: &mut OpCall<'_>, norm: &Norm) -> Result<()> {
    let (dy, x) = (c.shape(0)?, c.shape(1)?);
    if dy != x {
        return Err(invalid!(
            "x and y_backprop must have same shape, but x has shape {x} and y_backprop has shape {dy}"
        ));
    }
    let depth = norm.channels.count(x)?;
    let (scale, mean) = (by_channel(c, 2, "scale", depth)?, by_channel(c, 3, "mean", depth)?);
    let variance = by_channel(c, 4, "variance", depth)?;
    let (dy, x) = (norm.channels.to_last(c, c.input(0)?)?, norm.channels.to_last(c, c.input(1)?)?);
    let (dy, values) = (dy.as_slice::<f32>()?, x.as_slice::<f32>()?);
    let samples = values.len().checked_div(depth).unwrap_or(0).max(1) as f64;
    let wide = reserve::collect(mean.iter().map(|m| f64::from(*m)))?;
    let (sums, products) = gradient_sums(c.par(), depth, dy, values, &wide);
    let inverse = inverse_deviation(variance, norm.epsilon)?;
    let dscale = reserve::collect(products.iter().zip(&inverse).map(|(p, r)| p * r))?;
    let factor = reserve::collect(inverse.iter().zip(scale).map(|(r, s)| r * f64::from(*s)))?;
    let by = |f: &dyn Fn(usize) -> f64| {
        reserve::collect((0..depth).map(|i| if norm.training { f(i) as f32 } else { 0.0 }))
    };
    let slope = by(&|i| -factor[i] * inverse[i] * inverse[i] * products[i] / samples)?;
    let shift = by(&|i| -factor[i] * sums[i] / samples)?;
    let mut dx = Tensor::uninit(DataType::Float, x.shape().clone())?;
    let factor = single(&factor)?;
    let affine = Affine { mean, scale: &slope, shift: &shift, gradient: Some((&factor, dy)) };
    affine.write(c.par(), values, dx.as_mut_slice::<f32>()?);
    let dx = norm.channels.restored(c, dx)?;
    c.set(0, dx);
    c.set(1, Tensor::vector(&single(&dscale)?)?);
    c.set(2, Tensor::vector(&single(&sums)?)?);
    // Reserve spaces are for other devices.
    c.set(3, Tensor::scalar(0f32));
    c.set(4, Tensor::scalar(0f32));
    Ok(())
}
