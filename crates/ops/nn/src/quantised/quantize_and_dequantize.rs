//! `QuantizeAndDequantize` and its versions 2 to 4: floats rounded to levels that keep 0, by a scale.

use crate::elementwise::for_slices;
use crate::prelude::*;
use thalweg_math::rounding::Round;

pub static OPS: &[&Op] = &[
    &QUANTIZE_AND_DEQUANTIZE,
    &QUANTIZE_AND_DEQUANTIZE_V2,
    &QUANTIZE_AND_DEQUANTIZE_V3,
    &QUANTIZE_AND_DEQUANTIZE_V4,
    &QUANTIZE_AND_DEQUANTIZE_V4_GRAD,
];

const FLOATS: &str = "T: {bfloat16, half, float, double}";
const ROUND_MODE: &str = "round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'";

static QUANTIZE_AND_DEQUANTIZE_V2: Op = Op {
    name: "QuantizeAndDequantizeV2",
    doc: "The input rounded to multiples of a scale, so that num_bits hold its range, or the one given, along an axis or of all.",
    inputs: &["input: T", "input_min: T", "input_max: T"],
    outputs: &["output: T"],
    attrs: &[
        "signed_input: bool = true",
        "num_bits: int = 8",
        "range_given: bool = false",
        FLOATS,
        ROUND_MODE,
        "narrow_range: bool = false",
        "axis: int = -1",
    ],
    shape: ranged_shape,
    grad: Rule(through),
    kernels: cpu!(make prepare: T in f32, f64),
    cases,
    ..Op::PURE
};

static QUANTIZE_AND_DEQUANTIZE_V4: Op = Op {
    name: "QuantizeAndDequantizeV4",
    doc: "As QuantizeAndDequantizeV2, with a gradient that is 0 outside of the range.",
    grad: Rule(|g| {
        let (x, low, high, dy) = (g.x[0], g.x[1], g.x[2], g.dy()?);
        let attrs = [("axis", Attr::Int(g.attrs.int("axis")?))];
        let args = [dy.into(), x.into(), low.into(), high.into()];
        Ok(g.ops("QuantizeAndDequantizeV4Grad", args, &attrs)?.into_iter().map(Grad::from).collect())
    }),
    ..QUANTIZE_AND_DEQUANTIZE_V2
};

static QUANTIZE_AND_DEQUANTIZE_V3: Op = Op {
    name: "QuantizeAndDequantizeV3",
    doc: "As QuantizeAndDequantizeV2, with the number of bits as an input.",
    inputs: &["input: T", "input_min: T", "input_max: T", "num_bits: int32"],
    attrs: &[
        "signed_input: bool = true",
        "range_given: bool = true",
        FLOATS,
        "narrow_range: bool = false",
        "axis: int = -1",
    ],
    cases: |r| {
        let add = |case: Case| {
            let inputs = [case.inputs, vec![Tensor::scalar(6i32)]].concat();
            let attrs = case.attrs.into_iter().filter(|(name, _)| !["num_bits", "round_mode"].contains(name));
            Case { inputs, attrs: attrs.collect(), no_difference: vec![0, 1, 2, 3] }
        };
        cases(r).into_iter().map(add).collect()
    },
    host_inputs: &["input_min", "input_max", "num_bits"],
    ..QUANTIZE_AND_DEQUANTIZE_V2
};

static QUANTIZE_AND_DEQUANTIZE: Op = Op {
    name: "QuantizeAndDequantize",
    doc: "As QuantizeAndDequantizeV2, with the range as attrs.",
    inputs: &["input: T"],
    attrs: &[
        "signed_input: bool = true",
        "num_bits: int = 8",
        "range_given: bool = false",
        "input_min: float = 0.0",
        "input_max: float = 0.0",
        FLOATS,
    ],
    shape: same_as_input,
    cases: |r| {
        let given = Case::new(vec![r.tensor(&[3])]).attr("range_given", true).attr("input_min", -1f32);
        vec![
            Case::new(vec![r.tensor(&[2, 3])]).without_difference(&[0]),
            given.attr("input_max", 1f32).without_difference(&[0]),
        ]
    },
    ..QUANTIZE_AND_DEQUANTIZE_V2
};

static QUANTIZE_AND_DEQUANTIZE_V4_GRAD: Op = Op {
    name: "QuantizeAndDequantizeV4Grad",
    doc: "The gradients where the input is in the range; those of the range are 0.",
    inputs: &["gradients: T", "input: T", "input_min: T", "input_max: T"],
    outputs: &["input_backprop: T", "input_min_backprop: T", "input_max_backprop: T"],
    attrs: &[FLOATS, "axis: int = -1"],
    shape: |c| Ok(vec![c.input(0).merge(&c.input(1))?, c.input(2), c.input(3)]),
    grad: Rule(|g| {
        let dy = g.dy()?;
        let mut grads = vec![Grad::from(dy)];
        grads.resize(4, Grad::None);
        Ok(grads)
    }),
    kernels: cpu!(make prepare_grad: T in f32, f64),
    cases: |r| {
        let bounds = [Tensor::scalar(-1f32), Tensor::scalar(1f32)].to_vec();
        let whole = Case::new([vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])], bounds].concat());
        let bounds = vec![r.range(&[3], -2.0, -0.5), r.range(&[3], 0.5, 2.0)];
        let channels = Case::new([vec![r.tensor(&[2, 3]), r.tensor(&[2, 3])], bounds].concat());
        vec![
            whole.without_difference(&[0, 1, 2, 3]),
            channels.attr("axis", 1).without_difference(&[0, 1, 2, 3]),
        ]
    },
    ..Op::PURE
};

/// Rounding is not differentiable: the gradient passes as if there were none.
fn through(g: &mut GradCall<'_>) -> Result<Vec<Grad>> {
    let mut grads = vec![Grad::from(g.dy()?)];
    grads.resize(g.x.len(), Grad::None);
    Ok(grads)
}

fn cases(r: &mut CaseGen) -> Vec<Case> {
    let whole = |low: f32, high: f32| [Tensor::scalar(low), Tensor::scalar(high)].to_vec();
    let measured = Case::new([vec![r.tensor(&[2, 3])], whole(0.0, 0.0)].concat());
    let given = Case::new([vec![r.tensor(&[2, 3])], whole(-1.0, 0.5)].concat()).attr("range_given", true);
    let bounds = vec![r.range(&[3], -2.0, -0.5), r.range(&[3], 0.5, 2.0)];
    // TensorFlow 2.21 refuses ranges that are given for an axis.
    let channels = Case::new([vec![r.tensor(&[2, 3])], bounds].concat()).attr("range_given", false);
    let channels =
        channels.attr("axis", 1).attr("round_mode", Attr::str("HALF_UP")).attr("narrow_range", true);
    [measured.attr("range_given", false), given, channels]
        .map(|case| case.without_difference(&[0, 1, 2]))
        .to_vec()
}

fn ranged_shape(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    let (input, axis) = (c.input(0), c.attrs.int("axis")?);
    let bounds = c.input(1).merge(&c.input(2))?;
    if axis < -1 {
        return Err(invalid!("axis should be at least -1, got {axis}"));
    }
    if axis == -1 {
        PartialShape::scalar().merge(&bounds)?;
    } else if let Some(rank) = input.rank() {
        if axis as usize >= rank {
            return Err(invalid!("axis {axis} is out of range: the input has rank {rank}"));
        }
        PartialShape::vector(input.dim(axis as usize)).merge(&bounds)?;
    }
    Ok(vec![input])
}

/// What attrs say; an absent one has its value of old.
#[derive(Clone, Copy)]
struct How {
    signed: bool,
    bits: Option<i64>,
    given: bool,
    half_up: bool,
    narrow: bool,
    axis: i64,
}

impl How {
    fn of(node: &KernelNode) -> Result<How> {
        let attrs = &node.attrs;
        let how = How {
            signed: attrs.bool("signed_input")?,
            bits: attrs.get("num_bits").map(|_| attrs.int("num_bits")).transpose()?,
            given: attrs.bool("range_given")?,
            half_up: attrs.get("round_mode").is_some() && attrs.str("round_mode")? == "HALF_UP",
            narrow: attrs.get("narrow_range").is_some() && attrs.bool("narrow_range")?,
            axis: attrs.get("axis").map_or(Ok(-1), |_| attrs.int("axis"))?,
        };
        if let Some(bits) = how.bits {
            how.check(bits)?;
        }
        Ok(how)
    }

    fn check(&self, bits: i64) -> Result<()> {
        let most = if self.signed { 62 } else { 63 };
        if (if self.signed { 2 } else { 1 }..=most).contains(&bits) {
            return Ok(());
        }
        Err(invalid!("num_bits is out of range: {bits} with signed_input {}", self.signed))
    }

    /// The scale that keeps 0, its inverse, and the range as far as the levels reach.
    fn scale<T: Float>(&self, bits: i64, low: T, high: T) -> Scale<T> {
        let unsigned = if self.signed { bits - 1 } else { bits };
        let most = (1i64 << unsigned) - 1;
        let least = if self.signed { -(1i64 << unsigned) + i64::from(self.narrow) } else { 0 };
        let (most, least) = (T::from_i64(most), T::from_i64(least));
        let side = |level: T, bound: T| {
            if level.mul(bound) > T::ZERO { level.div(bound) } else { T::greatest_finite() }
        };
        let (by_low, by_high) = (side(least, low), side(most, high));
        if by_low < by_high {
            let inverse = low.div(least);
            Scale { scale: by_low, inverse, low, high: most.mul(inverse) }
        } else {
            let inverse = high.div(most);
            Scale { scale: by_high, inverse, low: least.mul(inverse), high }
        }
    }
}

#[derive(Clone, Copy)]
struct Scale<T> {
    scale: T,
    inverse: T,
    low: T,
    high: T,
}

impl<T: Float> Scale<T> {
    /// The float of the level next to x.
    #[inline(always)]
    fn of(&self, x: T, single: fn(f32) -> f32, double: fn(f64) -> f64) -> T {
        let x = if x > self.high { self.high } else { x };
        let x = if x < self.low { self.low } else { x };
        x.mul(self.scale).via(single, double).mul(self.inverse)
    }
}

fn prepare<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let how = How::of(node)?;
    let attrs_range = match node.inputs.len() {
        1 => Some((node.attrs.float("input_min")?, node.attrs.float("input_max")?)),
        _ => None,
    };
    if let Some((low, high)) = attrs_range
        && how.given
        && low > high
    {
        return Err(invalid!("Invalid range: input_min {low} > input_max {high}"));
    }
    Ok(Box::new(move |c: &mut OpCall<'_>| run::<T>(c, how, attrs_range)))
}

/// The sizes before, along and after an axis; of all elements, along none.
fn around(shape: &Shape, axis: i64) -> Result<[usize; 3]> {
    if axis < 0 {
        return Ok([1, 1, shape.elements()]);
    }
    if axis as usize >= shape.rank() {
        return Err(invalid!(
            "Axis should be -1 or 0 or a positive value less than {}, but given axis value was {axis}",
            shape.rank()
        ));
    }
    let (before, along, after) = shape.around(axis as usize)?;
    Ok([before, along, after])
}

fn run<T: Float>(c: &mut OpCall<'_>, how: How, attrs_range: Option<(f32, f32)>) -> Result<()> {
    if c.node.op == "QuantizeAndDequantizeV3" && c.shape(0)?.is_scalar() {
        return Err(invalid!("Axis requested is larger than input dimensions: the input is a scalar"));
    }
    let bits = match how.bits {
        Some(bits) => bits,
        None => {
            let t = c.input(3)?;
            if t.elements() != 1 {
                return Err(invalid!("Invalid shape of num_bits: must have one element, got {}", t.shape()));
            }
            t.to_i64s()?.first().copied().unwrap_or(0)
        }
    };
    how.check(bits)?;
    let shape = c.shape(0)?.clone();
    let [_, channels, inner] = around(&shape, how.axis)?;
    let x = c.slice::<T>(0)?;
    let ranges = if how.given {
        given_ranges::<T>(c, how, channels, attrs_range)?
    } else {
        measured_ranges(x, channels, inner)?
    };
    let scale = |(low, high)| match how.scale(bits, low, high) {
        scale if how.given => scale,
        // The elements are not beyond their own range.
        scale => Scale { low: T::lowest(), high: T::highest(), ..scale },
    };
    let scales = reserve::collect(ranges.into_iter().map(scale))?;
    let mut out = Tensor::uninit(T::DTYPE, shape)?;
    let (slices, out_values) = ((scales.as_slice(), inner), out.as_mut_slice::<T>()?);
    if how.half_up {
        for_slices(c.par(), slices, x, out_values, |s, v| {
            s.of(v, |x| (x + 0.5).down(), |x| (x + 0.5).down())
        });
    } else {
        for_slices(c.par(), slices, x, out_values, |s, v| s.of(v, f32::nearest, f64::nearest));
    }
    c.set(0, out);
    Ok(())
}

fn given_ranges<T: Float>(
    c: &OpCall<'_>,
    how: How,
    channels: usize,
    attrs: Option<(f32, f32)>,
) -> Result<Vec<(T, T)>> {
    if let Some((low, high)) = attrs {
        return reserve::collect([(T::from_f64(low.into()), T::from_f64(high.into()))]);
    }
    let (low, high) = (c.input(1)?, c.input(2)?);
    for t in [low, high] {
        let fits = if how.axis < 0 {
            t.elements() == 1 && t.rank() <= 1
        } else {
            t.rank() == 1 && t.elements() == channels
        };
        if !fits {
            return Err(invalid!(
                "input_min_tensor and input_max_tensor must have {channels} elements like the axis, got shape {}",
                t.shape()
            ));
        }
    }
    let pairs = low.as_slice::<T>()?.iter().zip(high.as_slice::<T>()?);
    let ranges = reserve::collect(pairs.map(|(low, high)| (*low, *high)))?;
    match ranges.iter().find(|(low, high)| low > high) {
        Some((low, high)) => {
            Err(invalid!("Invalid range: input_min {} > input_max {}", low.to_f64(), high.to_f64()))
        }
        None => Ok(ranges),
    }
}

/// The least and the greatest element of each channel.
fn measured_ranges<T: Float>(x: &[T], channels: usize, inner: usize) -> Result<Vec<(T, T)>> {
    let mut ranges = reserve::filled(channels, (T::highest(), T::lowest()))?;
    if channels > 0 && inner > 0 {
        for (i, part) in x.chunks(inner).enumerate() {
            let range = &mut ranges[i % channels];
            *range = part.iter().fold(*range, |(low, high), v| (low.smaller(*v), high.larger(*v)));
        }
    }
    Ok(ranges)
}

fn prepare_grad<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let axis = node.attrs.int("axis")?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let shape = c.shape(1)?.clone();
        if *c.shape(0)? != shape {
            return Err(invalid!(
                "gradient and input must be the same size, got {} and {shape}",
                c.shape(0)?
            ));
        }
        let [_, channels, inner] = around(&shape, axis)?;
        for i in [2, 3] {
            let t = c.input(i)?;
            if t.rank() > 1 || (axis >= 0 && t.rank() != 1) || t.elements() != channels {
                return Err(invalid!(
                    "min and max have incorrect size, expected {channels} was {}",
                    t.shape()
                ));
            }
        }
        let mut out = Tensor::uninit(T::DTYPE, shape)?;
        let [dy, x, low, high] = [c.slice::<T>(0)?, c.slice::<T>(1)?, c.slice::<T>(2)?, c.slice::<T>(3)?];
        let bounds = reserve::collect(low.iter().copied().zip(high.iter().copied()))?;
        let factors = out.as_mut_slice::<T>()?;
        for_slices(c.par(), (&bounds, inner), x, factors, |(low, high), x| {
            if x >= *low && x <= *high { T::ONE } else { T::ZERO }
        });
        factors.iter_mut().zip(dy).for_each(|(factor, dy)| *factor = dy.mul(*factor));
        let zeros =
            [Tensor::zeros(T::DTYPE, c.shape(2)?.clone())?, Tensor::zeros(T::DTYPE, c.shape(3)?.clone())?];
        c.set(0, out);
        for (i, zeros) in zeros.into_iter().enumerate() {
            c.set(i + 1, zeros);
        }
        Ok(())
    }))
}
