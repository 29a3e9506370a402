//! `FakeQuantWithMinMaxArgs`, `..Vars`, `..VarsPerChannel` and their gradients: floats rounded to the levels that a quantised
//! type would have, for training.

use crate::elementwise::for_slices;
use crate::prelude::*;
use thalweg_math::rounding::Round;

pub static OPS: &[&Op] = &[
    &FAKE_QUANT_WITH_MIN_MAX_ARGS,
    &FAKE_QUANT_WITH_MIN_MAX_ARGS_GRADIENT,
    &FAKE_QUANT_WITH_MIN_MAX_VARS,
    &FAKE_QUANT_WITH_MIN_MAX_VARS_GRADIENT,
    &FAKE_QUANT_WITH_MIN_MAX_VARS_PER_CHANNEL,
    &FAKE_QUANT_WITH_MIN_MAX_VARS_PER_CHANNEL_GRADIENT,
];

static FAKE_QUANT_WITH_MIN_MAX_ARGS: Op = Op {
    name: "FakeQuantWithMinMaxArgs",
    doc: "The inputs rounded to the 2^num_bits levels between min and max, which are shifted so that 0 is one of them.",
    inputs: &["inputs: float"],
    outputs: &["outputs: float"],
    attrs: &["min: float = -6.0", "max: float = 6.0", "num_bits: int = 8", "narrow_range: bool = false"],
    shape: same_as_input,
    grad: Rule(|g| {
        let (x, dy) = (g.x[0], g.dy()?);
        let attrs = ["min", "max", "num_bits", "narrow_range"].map(|name| (name, g.attrs.get(name).cloned()));
        let attrs: Vec<_> = attrs.into_iter().filter_map(|(name, a)| Some((name, a?))).collect();
        Ok(vec![g.op("FakeQuantWithMinMaxArgsGradient", [dy.into(), x.into()], &attrs)?.into()])
    }),
    kernels: cpu!(make args),
    cases: |r| {
        // Differences of a step function say nothing of the gradient, which is that of the identity within the bounds.
        vec![
            Case::new(vec![r.tensor(&[2, 3])]).without_difference(&[0]),
            Case::new(vec![r.tensor(&[4])])
                .attr("min", 0.1f32)
                .attr("max", 1.5f32)
                .attr("num_bits", 4)
                .without_difference(&[0]),
        ]
    },
    ..Op::PURE
};

static FAKE_QUANT_WITH_MIN_MAX_ARGS_GRADIENT: Op = Op {
    name: "FakeQuantWithMinMaxArgsGradient",
    doc: "The gradients where the inputs are between the bounds, else 0.",
    inputs: &["gradients: float", "inputs: float"],
    outputs: &["backprops: float"],
    shape: shape_call::all_inputs_alike,
    grad: Stops,
    kernels: cpu!(make args_gradient),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])]).attr("max", 1f32)],
    ..FAKE_QUANT_WITH_MIN_MAX_ARGS
};

static FAKE_QUANT_WITH_MIN_MAX_VARS: Op = Op {
    name: "FakeQuantWithMinMaxVars",
    doc: "As FakeQuantWithMinMaxArgs, with bounds that are inputs.",
    inputs: &["inputs: float", "min: float", "max: float"],
    attrs: &["num_bits: int = 8", "narrow_range: bool = false"],
    shape: |c| {
        c.scalar(1)?;
        c.scalar(2)?;
        Ok(vec![c.input(0)])
    },
    grad: Rule(|g| by_bounds(g, "FakeQuantWithMinMaxVarsGradient")),
    kernels: cpu!(make vars),
    cases: |r| {
        let bounds = [Tensor::scalar(-1f32), Tensor::scalar(1.5f32)];
        vec![Case::new([vec![r.tensor(&[2, 3])], bounds.to_vec()].concat()).without_difference(&[0, 1, 2])]
    },
    ..FAKE_QUANT_WITH_MIN_MAX_ARGS
};

static FAKE_QUANT_WITH_MIN_MAX_VARS_GRADIENT: Op = Op {
    name: "FakeQuantWithMinMaxVarsGradient",
    doc: "The gradients where the inputs are between the bounds, and for each bound the sum of those beyond it.",
    inputs: &["gradients: float", "inputs: float", "min: float", "max: float"],
    outputs: &["backprops_wrt_input: float", "backprop_wrt_min: float", "backprop_wrt_max: float"],
    shape: |c| {
        let inputs = c.input(0).merge(&c.input(1))?;
        c.scalar(2)?;
        c.scalar(3)?;
        Ok(vec![inputs, PartialShape::scalar(), PartialShape::scalar()])
    },
    grad: Stops,
    kernels: cpu!(make vars_gradient),
    cases: |r| {
        let bounds = [Tensor::scalar(-1f32), Tensor::scalar(0.5f32)];
        vec![Case::new([vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])], bounds.to_vec()].concat())]
    },
    ..FAKE_QUANT_WITH_MIN_MAX_VARS
};

static FAKE_QUANT_WITH_MIN_MAX_VARS_PER_CHANNEL: Op = Op {
    name: "FakeQuantWithMinMaxVarsPerChannel",
    doc: "As FakeQuantWithMinMaxVars, with bounds for each channel, the last dimension.",
    shape: |c| {
        let (inputs, bounds) = (c.rank_at_least(0, 1)?, c.rank(1, 1)?.merge(&c.rank(2, 1)?)?);
        if let Some(last) = inputs.dims().and_then(|d| d.last()) {
            merge_dim(*last, bounds.dim(0))?;
        }
        Ok(vec![inputs])
    },
    grad: Rule(|g| by_bounds(g, "FakeQuantWithMinMaxVarsPerChannelGradient")),
    cases: |r| {
        let bounds = [r.range(&[3], -2.0, -0.5), r.range(&[3], 0.5, 2.0)];
        vec![Case::new([vec![r.tensor(&[2, 3])], bounds.to_vec()].concat()).without_difference(&[0, 1, 2])]
    },
    ..FAKE_QUANT_WITH_MIN_MAX_VARS
};

static FAKE_QUANT_WITH_MIN_MAX_VARS_PER_CHANNEL_GRADIENT: Op = Op {
    name: "FakeQuantWithMinMaxVarsPerChannelGradient",
    doc: "As FakeQuantWithMinMaxVarsGradient, for each channel, the last dimension.",
    shape: |c| {
        let bounds = c.rank(2, 1)?.merge(&c.rank(3, 1)?)?;
        let inputs = c.rank_at_least(0, 1)?.merge(&c.input(1))?;
        Ok(vec![inputs, bounds.clone(), bounds])
    },
    cases: |r| {
        let bounds = [r.range(&[3], -2.0, -0.5), r.range(&[3], 0.5, 2.0)];
        vec![Case::new([vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])], bounds.to_vec()].concat())]
    },
    ..FAKE_QUANT_WITH_MIN_MAX_VARS_GRADIENT
};

/// The gradients of inputs and bounds, by an op that computes all three.
fn by_bounds(g: &mut GradCall<'_>, op: &'static str) -> Result<Vec<Grad>> {
    let (x, low, high, dy) = (g.x[0], g.x[1], g.x[2], g.dy()?);
    let attrs = [
        ("num_bits", Attr::Int(g.attrs.int("num_bits")?)),
        ("narrow_range", Attr::Bool(g.attrs.bool("narrow_range")?)),
    ];
    let grads = g.ops(op, [dy.into(), x.into(), low.into(), high.into()], &attrs)?;
    Ok(grads.into_iter().map(Grad::from).collect())
}

/// The numbers of the lowest and the highest level.
fn levels(node: &KernelNode) -> Result<(f32, f32)> {
    let bits = node.attrs.int("num_bits")?;
    if !(2..=16).contains(&bits) {
        return Err(invalid!("num_bits must be between 2 and 16, inclusive, got {bits}"));
    }
    let lowest = if node.attrs.bool("narrow_range")? { 1.0 } else { 0.0 };
    Ok((lowest, ((1 << bits) - 1) as f32))
}

/// Bounds shifted so that 0 is a level.
#[derive(Clone, Copy)]
struct Nudged {
    low: f32,
    high: f32,
    scale: f32,
    inverse: f32,
    /// The number of the level of 0.
    zero: f32,
}

impl Nudged {
    fn new(low: f32, high: f32, (lowest, highest): (f32, f32)) -> Nudged {
        let scale = (high - low) / (highest - lowest);
        let inverse = (highest - lowest) / (high - low);
        // Saturates as a level does; NaN is 0.
        let zero = (lowest - low / scale).clamp(lowest, highest).round() as u16 as f32;
        let (low, high) = ((lowest - zero) * scale, (highest - zero) * scale);
        Nudged { low, high, scale, inverse, zero: (-low * inverse + 0.5).floor() }
    }

    #[inline]
    fn round(&self, x: f32) -> f32 {
        let clamped = if x < self.high { x } else { self.high };
        let clamped = if clamped > self.low { clamped } else { self.low };
        ((clamped - self.low) * self.inverse - self.zero + 0.5).down() * self.scale
    }

    fn has(&self, x: f32) -> bool {
        x >= self.low && x <= self.high
    }
}

fn bounds_of_attrs(node: &KernelNode) -> Result<Nudged> {
    let (low, high) = (node.attrs.float("min")?, node.attrs.float("max")?);
    if low >= high || low.is_nan() || high.is_nan() {
        return Err(invalid!("min has to be smaller than max, was: {low} >= {high}"));
    }
    Ok(Nudged::new(low, high, levels(node)?))
}

fn args(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let nudged = bounds_of_attrs(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| unary(c, |x: f32| nudged.round(x))))
}

fn args_gradient(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let nudged = bounds_of_attrs(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        crate::elementwise::binary_alike(c, |dy: f32, x: f32| if nudged.has(x) { dy } else { 0.0 * dy })
    }))
}

/// The bounds in inputs `i` and `i + 1`: of all elements (`None`, if both are 0), or of each channel.
fn bounds(c: &OpCall<'_>, x: usize, i: usize, levels: (f32, f32)) -> Result<Vec<Option<Nudged>>> {
    let per_channel = c.node.op.contains("PerChannel");
    let channels = c.shape(x)?.last().copied();
    let (low, high) = (c.input(i)?, c.input(i + 1)?);
    for (t, name) in [(low, "min"), (high, "max")] {
        if per_channel && (t.rank() != 1 || Some(t.elements()) != channels) {
            return Err(invalid!("{name} has incorrect size, expected {channels:?} was {}", t.shape()));
        }
        if !per_channel && !t.shape().is_scalar() {
            return Err(invalid!("`{name}` must be rank 0 but is rank {}", t.rank()));
        }
    }
    let pairs = low.as_slice::<f32>()?.iter().zip(high.as_slice::<f32>()?);
    reserve::collect(pairs.map(|(low, high)| match (*low, *high) {
        (0.0, 0.0) => None,
        (low, high) => Some(Nudged::new(low, high, levels)),
    }))
}

fn vars(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let levels = levels(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let bounds = bounds(c, 0, 1, levels)?;
        let mut out = Tensor::uninit(DataType::Float, c.shape(0)?.clone())?;
        let x = c.slice::<f32>(0)?;
        for_slices(c.par(), (&bounds, 1), x, out.as_mut_slice::<f32>()?, |bounds, x| {
            bounds.map_or(0.0, |b| b.round(x))
        });
        c.set(0, out);
        Ok(())
    }))
}

fn vars_gradient(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let levels = levels(node)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        if c.shape(0)? != c.shape(1)? {
            return Err(invalid!(
                "gradient and input must be the same size, got {} and {}",
                c.shape(0)?,
                c.shape(1)?
            ));
        }
        let bounds = bounds(c, 1, 2, levels)?;
        let (dy, x, shape) = (c.slice::<f32>(0)?, c.slice::<f32>(1)?, c.shape(2)?.clone());
        let mut out = Tensor::uninit(DataType::Float, c.shape(0)?.clone())?;
        let (mut below, mut above) =
            (reserve::filled(bounds.len(), 0f64)?, reserve::filled(bounds.len(), 0f64)?);
        // One thread: the sums need a fixed order, and the op is small beside the layer it follows.
        let count = bounds.len().max(1);
        let rows = dy.chunks_exact(count).zip(x.chunks_exact(count));
        for ((dy, x), out) in rows.zip(out.as_mut_slice::<f32>()?.chunks_exact_mut(count)) {
            let sums = below.iter_mut().zip(&mut above).zip(&bounds);
            for (((dy, x), out), ((below, above), bounds)) in dy.iter().zip(x).zip(out).zip(sums) {
                let Some(b) = bounds else {
                    *out = *dy;
                    continue;
                };
                // Without branches, which noise would mislead.
                let (is_below, is_above) = (*x < b.low, *x > b.high);
                *below += f64::from(if is_below { *dy } else { 0.0 });
                *above += f64::from(if is_above { *dy } else { 0.0 });
                *out = if b.has(*x) { *dy } else { 0.0 * *dy };
            }
        }
        c.set(0, out);
        for (output, sums) in [(1, below), (2, above)] {
            let values = reserve::collect(sums.iter().map(|s| *s as f32))?;
            c.set(output, Tensor::from_slice(shape.clone(), &values)?);
        }
        Ok(())
    }))
}
