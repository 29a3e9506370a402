//! `FusedBatchNorm`: each channel normalised to mean 0 and variance 1, then scaled and shifted.

use super::layout::{Channels, by_channel, inverse_deviation, single};
use crate::narrow::in_float;
use crate::prelude::*;
use thalweg_math::normalise::{Affine, moments};

pub static FUSED_BATCH_NORM: Op = Op {
    name: "FusedBatchNorm",
    doc: "(x - mean) / sqrt(variance + epsilon) * scale + offset by channel: with the statistics of x in training, else the given ones.",
    inputs: &["x: T", "scale: T", "offset: T", "mean: T", "variance: T"],
    outputs: &["y: T", "batch_mean: T", "batch_variance: T", "reserve_space_1: T", "reserve_space_2: T"],
    attrs: &[
        "T: {float}",
        "epsilon: float = 0.0001",
        "exponential_avg_factor: float = 1.0",
        "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
        "is_training: bool = true",
    ],
    shape,
    grad: Rule(|g| grad(g, "FusedBatchNormGrad")),
    kernels: &[cpu_row!([("T", DataType::Float)], Make::Prepared(prepare))],
    cases,
    expensive: true,
    ..Op::PURE
};

pub static FUSED_BATCH_NORM_V2: Op = Op {
    name: "FusedBatchNormV2",
    inputs: &["x: T", "scale: U", "offset: U", "mean: U", "variance: U"],
    outputs: &["y: T", "batch_mean: U", "batch_variance: U", "reserve_space_1: U", "reserve_space_2: U"],
    attrs: &[
        "T: {half, bfloat16, float}",
        "U: {float}",
        "epsilon: float = 0.0001",
        "exponential_avg_factor: float = 1.0",
        "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
        "is_training: bool = true",
    ],
    grad: Rule(|g| grad(g, "FusedBatchNormGradV2")),
    kernels: &[
        cpu_row!([("T", DataType::Float), ("U", DataType::Float)], Make::Prepared(prepare)),
        cpu_row!([("T", DataType::Half), ("U", DataType::Float)], Make::Prepared(prepare_narrow::<f16>)),
        cpu_row!([("T", DataType::Bfloat16), ("U", DataType::Float)], Make::Prepared(prepare_narrow::<bf16>)),
    ],
    ..FUSED_BATCH_NORM
};

pub static FUSED_BATCH_NORM_V3: Op = Op {
    name: "FusedBatchNormV3",
    outputs: &[
        "y: T",
        "batch_mean: U",
        "batch_variance: U",
        "reserve_space_1: U",
        "reserve_space_2: U",
        "reserve_space_3: U",
    ],
    attrs: &[
        "T: {half, bfloat16, float}",
        "U: {bfloat16, float}",
        "epsilon: float = 0.0001",
        "exponential_avg_factor: float = 1.0",
        "data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'",
        "is_training: bool = true",
    ],
    grad: Rule(|g| grad(g, "FusedBatchNormGradV3")),
    ..FUSED_BATCH_NORM_V2
};

fn cases(r: &mut CaseGen) -> Vec<Case> {
    let mut case = |x: &[usize], given: usize| {
        Case::new(vec![r.tensor(x), r.tensor(&[3]), r.tensor(&[3]), r.tensor(&[given]), r.positive(&[given])])
    };
    // Gradients flow from y only, not to the given mean and variance.
    vec![
        case(&[2, 3, 2, 3], 0).without_difference(&[0, 3, 4]),
        case(&[2, 3, 2, 3], 3).attr("exponential_avg_factor", 0.25f32).without_difference(&[0, 3, 4]),
        case(&[2, 3, 2, 3], 3).attr("is_training", false).without_difference(&[3, 4]),
        case(&[2, 3, 2, 2], 0).attr("data_format", "NCHW").without_difference(&[0, 3, 4]),
    ]
}

fn shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let channels = Channels::of(c.attrs)?;
    let x = c.rank(0, channels.rank)?;
    let mut depth = x.dim(channels.axis());
    for i in 1..if c.attrs.bool("is_training")? { 3 } else { 5 } {
        depth = merge_dim(depth, c.rank(i, 1)?.dim(0))?;
    }
    let dims = (0..channels.rank).map(|i| if i == channels.axis() { depth } else { x.dim(i) });
    let mut shapes = vec![dims.collect()];
    shapes.extend(vec![PartialShape::vector(depth); 4]);
    shapes.resize(c.outputs, PartialShape::unknown());
    Ok(shapes)
}

fn grad(g: &mut GradCall<'_>, op: &str) -> Result<Vec<Grad>> {
    let training = g.attrs.bool("is_training")?;
    let attrs: Attrs = ["epsilon", "data_format", "is_training"]
        .iter()
        .filter_map(|name| Some((*name, g.attrs.get(name)?.clone())))
        .collect();
    let kept = if training { [g.y[3], g.y[4]] } else { [g.x[3], g.x[4]] };
    let scale = g.x[1];
    let args = [g.dy()?, g.x[0], scale].into_iter().chain(kept).chain(g.y.get(5).copied());
    let found = g.graph.add(op, args.map(Arg::from).collect(), attrs)?;
    let [dx, dscale, doffset, ..] = found[..] else { return Err(internal("three gradients")) };
    Ok(vec![dx.into(), dscale.into(), doffset.into(), Grad::None, Grad::None])
}

#[derive(Clone, Copy)]
struct Norm {
    channels: Channels,
    epsilon: f32,
    /// The weight of the batch in the running mean and variance.
    factor: f32,
    training: bool,
}

impl Norm {
    fn of(attrs: &Attrs) -> Result<Norm> {
        Ok(Norm {
            channels: Channels::of(attrs)?,
            epsilon: attrs.float("epsilon")?,
            factor: attrs.float("exponential_avg_factor")?,
            training: attrs.bool("is_training")?,
        })
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

fn run(c: &mut OpCall<'_>, norm: &Norm) -> Result<()> {
    let depth = norm.channels.count(c.shape(0)?)?;
    let (scale, offset) = (by_channel(c, 1, "scale", depth)?, by_channel(c, 2, "offset", depth)?);
    // Checked even if not used.
    for (i, name) in [(3, "estimated_mean"), (4, "estimated_variance")] {
        if c.shape(i)?.rank() != 1 {
            return Err(invalid!("{name} must be 1-dimensional{}", c.shape(i)?));
        }
    }
    let given = if !norm.training || norm.factor != 1.0 {
        Some((by_channel(c, 3, "mean", depth)?, by_channel(c, 4, "variance", depth)?))
    } else {
        None
    };
    let x = norm.channels.to_last(c, c.input(0)?)?;
    let values = x.as_slice::<f32>()?;
    let samples = values.len().checked_div(depth).unwrap_or(0);
    // The statistics used (and saved for the gradient), and those output as the running ones.
    let (used, running) = match (norm.training && samples > 0, given) {
        (false, Some((mean, variance))) if !norm.training => {
            let pair = |values: &[f32]| Ok::<_, Error>((reserve::copied(values)?, reserve::copied(values)?));
            let ((mean, running_mean), (variance, running_variance)) = (pair(mean)?, pair(variance)?);
            ((mean, variance), (running_mean, running_variance))
        }
        (false, _) => {
            let pair =
                |value| Ok::<_, Error>((reserve::filled(depth, value)?, reserve::filled(depth, value)?));
            (pair(0.0)?, pair(f32::NAN)?)
        }
        (true, given) => {
            let (mean, variance) = moments(c.par(), depth, values);
            // Bessel's correction, except for a single sample.
            let unbiased = samples as f64 / (samples.max(2) - 1) as f64;
            let running_variance = reserve::collect(variance.iter().map(|v| v * unbiased))?;
            let running = match given {
                None => (single(&mean)?, single(&running_variance)?),
                Some((m, v)) => (mixed(&mean, m, norm.factor)?, mixed(&running_variance, v, norm.factor)?),
            };
            ((single(&mean)?, single(&variance)?), running)
        }
    };
    let inverse = inverse_deviation(&used.1, norm.epsilon)?;
    let factor = inverse.iter().zip(scale).map(|(inverse, scale)| (inverse * f64::from(*scale)) as f32);
    let factor = reserve::collect(factor)?;
    let mut y = Tensor::uninit(DataType::Float, x.shape().clone())?;
    let affine = Affine { mean: &used.0, scale: &factor, shift: offset, gradient: None };
    affine.write(c.par(), values, y.as_mut_slice::<f32>()?);
    let y = norm.channels.restored(c, y)?;
    c.set(0, y);
    for (i, values) in [&running.0, &running.1, &used.0, &used.1].into_iter().enumerate() {
        c.set(i + 1, Tensor::vector(values)?);
    }
    if c.node.outputs.len() == 6 {
        c.set(5, Tensor::vector::<f32>(&[])?);
    }
    Ok(())
}

/// The exponential moving average.
fn mixed(new: &[f64], old: &[f32], part: f32) -> Result<Vec<f32>> {
    let part = f64::from(part);
    let mix = |(new, old): (&f64, &f32)| (part * new + (1.0 - part) * f64::from(*old)) as f32;
    reserve::collect(new.iter().zip(old).map(mix))
}
