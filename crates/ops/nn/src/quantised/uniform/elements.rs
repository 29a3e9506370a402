//! `UniformQuantize`, `UniformDequantize`, `UniformRequantize`, `UniformQuantizedAdd` and `UniformQuantizedClipByValue`.

use super::affine::{Affine, Multiplier, level, limits, runs};
use crate::broadcast::BroadcastPlan;
use crate::elementwise::for_slices;
use crate::levels::{integers, quantised};
use crate::prelude::*;
use thalweg_math::parallel::Parallel;

pub static OPS: &[&Op] = &[
    &UNIFORM_DEQUANTIZE,
    &UNIFORM_QUANTIZE,
    &UNIFORM_QUANTIZED_ADD,
    &UNIFORM_QUANTIZED_CLIP_BY_VALUE,
    &UNIFORM_REQUANTIZE,
];

const AXIS: &str = "quantization_axis: int = -1";
const LEAST: &str = "quantization_min_val: int";
const MOST: &str = "quantization_max_val: int";

static UNIFORM_QUANTIZE: Op = Op {
    name: "UniformQuantize",
    doc: "The integers that stand for floats, by scales and zero points.",
    inputs: &["input: Tin", "scales: float", "zero_points: int32"],
    outputs: &["output: Tout"],
    attrs: &["Tin: {float}", "Tout: {qint8, quint8, qint32}", AXIS, LEAST, MOST],
    shape: same_as_input,
    grad: Missing,
    kernels: &[
        cpu_row!([("Tout", DataType::Qint8)], Make::Plain(quantize)),
        cpu_row!([("Tout", DataType::Quint8)], Make::Plain(quantize)),
        cpu_row!([("Tout", DataType::Qint32)], Make::Plain(quantize)),
    ],
    cases: |r| {
        let scales = [Tensor::scalar(0.1f32), Tensor::scalar(3i32)];
        let case =
            Case::new([vec![r.tensor(&[2, 3])], scales.to_vec()].concat()).attr("Tout", DataType::Qint8);
        let along = vec![r.tensor(&[2, 3]), r.range(&[3], 0.1, 0.3), r.ints(&[3], -5, 5)];
        let along = Case::new(along).attr("Tout", DataType::Quint8).attr("quantization_axis", 1);
        vec![bytes(case, ""), along.attr("quantization_min_val", 0).attr("quantization_max_val", 255)]
    },
    ..Op::PURE
};

static UNIFORM_DEQUANTIZE: Op = Op {
    name: "UniformDequantize",
    doc: "The floats that integers stand for, by scales and zero points.",
    attrs: &["Tin: {qint8, quint8, qint32}", "Tout: {float}", AXIS, LEAST, MOST],
    kernels: &[
        cpu_row!([("Tin", DataType::Qint8)], Make::Plain(dequantize)),
        cpu_row!([("Tin", DataType::Quint8)], Make::Plain(dequantize)),
        cpu_row!([("Tin", DataType::Qint32)], Make::Plain(dequantize)),
    ],
    cases: |r| {
        let stored = quantised(r.ints(&[2, 3], -128, 127), DataType::Qint8);
        let scales = [r.range(&[2], 0.1, 0.3), r.ints(&[2], -5, 5)];
        let case = Case::new(stored.into_iter().chain(scales).collect()).attr("quantization_axis", 0);
        vec![bytes(case.attr("Tout", DataType::Float), "")]
    },
    ..UNIFORM_QUANTIZE
};

static UNIFORM_REQUANTIZE: Op = Op {
    name: "UniformRequantize",
    doc: "The integers that stand for the same floats by other scales and zero points.",
    inputs: &[
        "input: Tin",
        "input_scales: float",
        "input_zero_points: int32",
        "output_scales: float",
        "output_zero_points: int32",
    ],
    attrs: &[
        "Tin: {qint8, qint32}",
        "Tout: {qint8, qint32}",
        "input_quantization_axis: int = -1",
        "input_quantization_min_val: int",
        "input_quantization_max_val: int",
        "output_quantization_axis: int = -1",
        "output_quantization_min_val: int",
        "output_quantization_max_val: int",
    ],
    kernels: &[
        cpu_row!([("Tin", DataType::Qint8), ("Tout", DataType::Qint8)], Make::Plain(requantize)),
        cpu_row!([("Tin", DataType::Qint32), ("Tout", DataType::Qint8)], Make::Plain(requantize)),
    ],
    cases: |r| {
        let mut of = |dtype, reach: i32| {
            let stored = quantised(r.ints(&[2, 3], -reach, reach), dtype);
            let scales =
                [r.range(&[3], 0.1, 0.3), r.ints(&[3], -5, 5), Tensor::scalar(0.7f32), Tensor::scalar(3i32)];
            let case = Case::new(stored.into_iter().chain(scales).collect()).attr("Tout", DataType::Qint8);
            bytes(bytes(case.attr("input_quantization_axis", 1), "input_"), "output_")
        };
        vec![of(DataType::Qint8, 127), of(DataType::Qint32, 900)]
    },
    ..UNIFORM_QUANTIZE
};

static UNIFORM_QUANTIZED_ADD: Op = Op {
    name: "UniformQuantizedAdd",
    doc: "Sums by scales and zero points of their own, broadcast.",
    inputs: &[
        "lhs: T",
        "rhs: T",
        "lhs_scales: float",
        "lhs_zero_points: int32",
        "rhs_scales: float",
        "rhs_zero_points: int32",
        "output_scales: float",
        "output_zero_points: int32",
    ],
    outputs: &["output: T"],
    attrs: &[
        "lhs_quantization_axis: int = -1",
        "lhs_quantization_min_val: int",
        "lhs_quantization_max_val: int",
        "rhs_quantization_axis: int = -1",
        "rhs_quantization_min_val: int",
        "rhs_quantization_max_val: int",
        "output_quantization_axis: int = -1",
        "output_quantization_min_val: int",
        "output_quantization_max_val: int",
        "T: {qint32}",
    ],
    shape: |c| Ok(vec![shape_call::broadcast_shapes(&c.input(0), &c.input(1))?]),
    kernels: &[cpu_row!([("T", DataType::Qint32)], Make::Plain(add))],
    cases: |r| {
        let stored = [&[2, 3][..], &[3]].map(|dims| quantised(r.ints(dims, -900, 900), DataType::Qint32));
        let scales =
            [0.1f32, 0.2, 0.3].map(Tensor::scalar).into_iter().zip([1, -2, 3].map(Tensor::scalar::<i32>));
        let inputs =
            stored.into_iter().flatten().chain(scales.flat_map(|(scale, zero)| [scale, zero])).collect();
        vec![["lhs_", "rhs_", "output_"].into_iter().fold(Case::new(inputs), words)]
    },
    ..UNIFORM_QUANTIZE
};

static UNIFORM_QUANTIZED_CLIP_BY_VALUE: Op = Op {
    name: "UniformQuantizedClipByValue",
    doc: "The operand, between min and max, which have its scales and zero points.",
    inputs: &["operand: T", "min: T", "max: T", "scales: float", "zero_points: int32"],
    outputs: &["output: T"],
    attrs: &["T: {qint32}", AXIS, LEAST, MOST],
    kernels: &[cpu_row!([("T", DataType::Qint32)], Make::Plain(clip))],
    cases: |r| {
        let stored = [(&[2, 3][..], -90, 90), (&[3], -50, 0), (&[3], 0, 50)]
            .map(|(dims, low, high)| quantised(r.ints(dims, low, high), DataType::Qint32));
        let scales = [r.range(&[3], 0.1, 0.3), r.ints(&[3], -5, 5)];
        let case = Case::new(stored.into_iter().flatten().chain(scales).collect());
        vec![words(case.attr("quantization_axis", 1), "")]
    },
    ..UNIFORM_QUANTIZE
};

/// A case whose integers, of the attrs with this prefix, have 8 bits.
pub fn bytes(case: Case, prefix: &str) -> Case {
    between(case, prefix, -128, 127)
}

/// As `bytes`, of 32 bits.
pub fn words(case: Case, prefix: &str) -> Case {
    between(case, prefix, i32::MIN.into(), i32::MAX.into())
}

fn between(case: Case, prefix: &str, least: i64, most: i64) -> Case {
    let [low, high] = match prefix {
        "" => ["quantization_min_val", "quantization_max_val"],
        "input_" => ["input_quantization_min_val", "input_quantization_max_val"],
        "lhs_" => ["lhs_quantization_min_val", "lhs_quantization_max_val"],
        "rhs_" => ["rhs_quantization_min_val", "rhs_quantization_max_val"],
        _ => ["output_quantization_min_val", "output_quantization_max_val"],
    };
    case.attr(low, least).attr(high, most)
}

fn quantize(c: &mut OpCall<'_>) -> Result<()> {
    let shape = c.shape(0)?.clone();
    let affine = Affine::of(c, 1, &shape, c.attrs().int("quantization_axis")?)?;
    let (limits, (along, inner)) = (limits(c.attrs(), "")?, runs(&shape, affine.axis)?);
    let x = c.slice::<f32>(0)?;
    let mut out = Tensor::uninit(DataType::Int32, shape)?;
    let slice = |i| match 1.0 / affine.scale(i) {
        inverse if inverse.is_finite() => Ok((inverse, affine.zero(i))),
        _ => Err(invalid!("1 / scale must be finite, got scale {}", affine.scale(i))),
    };
    // No elements need no scales.
    let slices = if x.is_empty() { Vec::new() } else { reserve::try_collect((0..along).map(slice))? };
    for_slices(c.par(), (&slices, inner), x, out.as_mut_slice::<i32>()?, |(per_scale, zero), x| {
        level(x, *per_scale, *zero, limits)
    });
    c.set(0, quantised(out, c.output_type(0)?)?);
    Ok(())
}

fn dequantize(c: &mut OpCall<'_>) -> Result<()> {
    let shape = c.shape(0)?.clone();
    let affine = Affine::of(c, 1, &shape, c.attrs().int("quantization_axis")?)?;
    let (along, inner) = runs(&shape, affine.axis)?;
    let x = affine.centred(c.par(), c.input(0)?)?;
    let mut out = Tensor::uninit(DataType::Float, shape)?;
    let scales = reserve::collect((0..along).map(|i| affine.scale(i)))?;
    let (x, values) = (x.as_slice::<i32>()?, out.as_mut_slice::<f32>()?);
    for_slices(c.par(), (&scales, inner), x, values, |scale, x| x as f32 * scale);
    c.set(0, out);
    Ok(())
}

/// The integers of `x`, whose scales and zero points are `from`, by those of `to`.
fn requantized(
    par: &dyn Parallel,
    x: &Tensor,
    from: &Affine,
    to: &Affine,
    (least, most): (i32, i32),
) -> Result<Tensor> {
    let (along, inner) = runs(x.shape(), from.axis.or(to.axis))?;
    let x = from.centred(par, x)?;
    let mut out = Tensor::uninit(DataType::Int32, x.shape().clone())?;
    let x = x.as_slice::<i32>()?;
    let slice = |i| {
        let factor = Multiplier::new(f64::from(from.scale(i)) / f64::from(to.scale(i)))?;
        Ok((factor, to.zero(i)))
    };
    let slices = if x.is_empty() { Vec::new() } else { reserve::try_collect((0..along).map(slice))? };
    for_slices(par, (&slices, inner), x, out.as_mut_slice::<i32>()?, |(factor, zero), x| {
        factor.times(x).wrapping_add(*zero).min(most).max(least)
    });
    Ok(out)
}

fn requantize(c: &mut OpCall<'_>) -> Result<()> {
    let shape = c.shape(0)?;
    let from = Affine::of(c, 1, shape, c.attrs().int("input_quantization_axis")?)?;
    let to = Affine::of(c, 3, shape, c.attrs().int("output_quantization_axis")?)?;
    if from.axis.is_some() && to.axis.is_some() && from.axis != to.axis {
        return Err(invalid!(
            "If input and output is both per-axis quantized, the quantization axis must be same."
        ));
    }
    let out = requantized(c.par(), c.input(0)?, &from, &to, limits(c.attrs(), "output_")?)?;
    c.set(0, quantised(out, c.output_type(0)?)?);
    Ok(())
}

fn add(c: &mut OpCall<'_>) -> Result<()> {
    let plan = BroadcastPlan::new(c.shape(0)?, c.shape(1)?)?;
    let shape = plan.shape().clone();
    let to = Affine::of(c, 6, &shape, c.attrs().int("output_quantization_axis")?)?;
    let (least, most) = limits(c.attrs(), "output_")?;
    let operand = |i: usize, name: &str| -> Result<Tensor> {
        let x = c.input(i)?;
        let from = Affine::of(c, 2 + 2 * i, x.shape(), c.attrs().int(name)?)?;
        // The axis of the result, in this operand, which lacks the first dimensions.
        let axis = to.axis.map(|axis| (axis + x.rank()).checked_sub(shape.rank()));
        let fits = match (from.axis, axis) {
            (Some(own), Some(axis)) => Some(own) == axis,
            (None, Some(axis)) => axis.is_some_and(|axis| x.shape()[axis] == to.scales.len()),
            (_, None) => true,
        };
        if !fits {
            return Err(invalid!(
                "{name}: if the output is per-axis quantized, the quantization axis must match"
            ));
        }
        let zeros = reserve::filled(to.zeros.len(), 0)?;
        let to = Affine { scales: reserve::copied(&to.scales)?, zeros, axis: axis.flatten() };
        requantized(c.par(), x, &from, &to, (i32::MIN, i32::MAX))
    };
    let (lhs, rhs) = (operand(0, "lhs_quantization_axis")?, operand(1, "rhs_quantization_axis")?);
    let sums = super::super::products::broadcast_pairs(&lhs, &rhs, i32::wrapping_add)?;
    let (along, inner) = runs(&shape, to.axis)?;
    let zeros = reserve::collect((0..along).map(|i| to.zero(i)))?;
    let mut out = Tensor::uninit(DataType::Int32, shape)?;
    let (sums, values) = (sums.as_slice::<i32>()?, out.as_mut_slice::<i32>()?);
    for_slices(c.par(), (&zeros, inner), sums, values, |zero, x: i32| {
        x.wrapping_add(*zero).min(most).max(least)
    });
    c.set(0, quantised(out, DataType::Qint32)?);
    Ok(())
}

fn clip(c: &mut OpCall<'_>) -> Result<()> {
    let shape = c.shape(0)?.clone();
    let affine = Affine::of(c, 3, &shape, c.attrs().int("quantization_axis")?)?;
    for i in [1, 2] {
        if c.shape(i)? != c.shape(3)? {
            return Err(invalid!(
                "{} must have the shape of scales, {}, got {}",
                c.input_name(i),
                c.shape(3)?,
                c.shape(i)?
            ));
        }
    }
    let (low, high) = (integers(c.input(1)?)?, integers(c.input(2)?)?);
    let (low, high) = (low.as_slice::<i32>()?, high.as_slice::<i32>()?);
    let (along, inner) = runs(&shape, affine.axis)?;
    let bounds = reserve::collect((0..along).filter_map(|i| Some((*low.get(i)?, *high.get(i)?))))?;
    let x = integers(c.input(0)?)?;
    let mut out = Tensor::uninit(DataType::Int32, shape)?;
    let (x, values) = (x.as_slice::<i32>()?, out.as_mut_slice::<i32>()?);
    for_slices(c.par(), (&bounds, inner), x, values, |(low, high), x: i32| x.max(*low).min(*high));
    c.set(0, quantised(out, DataType::Qint32)?);
    Ok(())
}
