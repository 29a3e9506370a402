//! Sums of products, in 32 bits, to 8 bits: the range that is in use, and the integers that stand for the same floats in
//! another range; for all elements or for each channel.

use crate::elementwise::{for_chunks_of, for_slices};
use crate::levels::{Levels, bound, bounds, integers, quantised};
use crate::prelude::*;
use thalweg_math::rounding::Round;

pub static OPS: &[&Op] = &[
    &QUANTIZE_DOWN_AND_SHRINK_RANGE,
    &REQUANTIZATION_RANGE,
    &REQUANTIZE,
    &REQUANTIZATION_RANGE_PER_CHANNEL,
    &REQUANTIZE_PER_CHANNEL,
];

const INPUT: &str = "Tinput: {qint8, quint8, qint32, qint16, quint16}";
const OUTPUT: &str = "out_type: {qint8, quint8, qint32, qint16, quint16}";

static QUANTIZE_DOWN_AND_SHRINK_RANGE: Op = Op {
    name: "QuantizeDownAndShrinkRange",
    doc: "The input in 8 bits, with the range that its elements have.",
    inputs: &["input: Tinput", "input_min: float", "input_max: float"],
    outputs: &["output: out_type", "output_min: float", "output_max: float"],
    attrs: &[INPUT, OUTPUT],
    shape: |c| ranged(c, 2),
    grad: Missing,
    kernels: &[row(&[("Tinput", DataType::Qint32), ("out_type", DataType::Quint8)], shrink)],
    cases: |r| vec![Case::new(sums(r, &[2, 3], 2)).attr("out_type", DataType::Quint8)],
    ..Op::PURE
};

static REQUANTIZATION_RANGE: Op = Op {
    name: "RequantizationRange",
    doc: "The range that the elements of the input have, with 0.",
    inputs: &["input: Tinput", "input_min: float", "input_max: float"],
    outputs: &["output_min: float", "output_max: float"],
    attrs: &[INPUT],
    shape: |c| {
        c.scalar(1)?;
        c.scalar(2)?;
        Ok(vec![PartialShape::scalar(), PartialShape::scalar()])
    },
    grad: Missing,
    kernels: &[row(&[("Tinput", DataType::Qint32)], |c| {
        let (low, high) = used_range(c)?;
        c.set(0, Tensor::scalar(low));
        c.set(1, Tensor::scalar(high));
        Ok(())
    })],
    cases: |r| vec![Case::new(sums(r, &[2, 3], 2))],
    ..Op::PURE
};

static REQUANTIZE: Op = Op {
    name: "Requantize",
    doc: "The integers that stand for the input's floats in another range.",
    inputs: &[
        "input: Tinput",
        "input_min: float",
        "input_max: float",
        "requested_output_min: float",
        "requested_output_max: float",
    ],
    shape: |c| ranged(c, 4),
    kernels: &[
        row(&[("Tinput", DataType::Qint32), ("out_type", DataType::Qint8)], requantize),
        row(&[("Tinput", DataType::Qint32), ("out_type", DataType::Quint8)], requantize),
    ],
    cases: |r| {
        let inputs = sums(r, &[2, 3], 4);
        vec![
            Case::new(inputs.clone()).attr("out_type", DataType::Quint8),
            Case::new(inputs).attr("out_type", DataType::Qint8),
        ]
    },
    ..QUANTIZE_DOWN_AND_SHRINK_RANGE
};

static REQUANTIZATION_RANGE_PER_CHANNEL: Op = Op {
    name: "RequantizationRangePerChannel",
    doc: "One range for all channels of images, by the elements that these have; not beyond clip_value_max.",
    inputs: &["input: T", "input_min: float", "input_max: float"],
    outputs: &["output_min: float", "output_max: float"],
    attrs: &["T: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32", "clip_value_max: float"],
    shape: |c| {
        c.rank(1, 1)?;
        c.rank(2, 1)?;
        Ok(vec![PartialShape::scalar(), PartialShape::scalar()])
    },
    grad: Missing,
    kernels: &[row(&[("T", DataType::Qint32)], range_per_channel)],
    cases: |r| vec![Case::new(channels(r, 2)).attr("clip_value_max", 1e6f32)],
    ..Op::PURE
};

static REQUANTIZE_PER_CHANNEL: Op = Op {
    name: "RequantizePerChannel",
    doc: "Images whose channels have ranges of their own, in 8 bits with one range.",
    inputs: &[
        "input: T",
        "input_min: float",
        "input_max: float",
        "requested_output_min: float",
        "requested_output_max: float",
    ],
    outputs: &["output: out_type", "output_min: float", "output_max: float"],
    attrs: &[
        "T: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32",
        "out_type: {qint8, quint8, qint32, qint16, quint16} = DT_QUINT8",
    ],
    shape: |c| {
        c.rank(1, 1)?;
        c.rank(2, 1)?;
        c.scalar(3)?;
        c.scalar(4)?;
        Ok(vec![c.input(0), PartialShape::scalar(), PartialShape::scalar()])
    },
    kernels: &[
        row(&[("T", DataType::Qint32), ("out_type", DataType::Quint8)], requantize_per_channel),
        row(&[("T", DataType::Qint32), ("out_type", DataType::Qint8)], requantize_per_channel),
    ],
    cases: |r| {
        let inputs = channels(r, 4);
        vec![Case::new(inputs.clone()), Case::new(inputs).attr("out_type", DataType::Qint8)]
    },
    ..QUANTIZE_DOWN_AND_SHRINK_RANGE
};

pub const fn row(
    types: &'static [(&'static str, DataType)],
    run: fn(&mut OpCall<'_>) -> Result<()>,
) -> KernelRow {
    KernelRow { types, device: "CPU", priority: 0, make: Make::Plain(run) }
}

/// The shape of the input and two bounds; the inputs after the first are scalars.
pub fn ranged(c: &ShapeCall<'_>, scalars: usize) -> Result<Vec<PartialShape>> {
    for i in 1..=scalars {
        c.scalar(i)?;
    }
    Ok(vec![c.input(0), PartialShape::scalar(), PartialShape::scalar()])
}

fn sums(r: &mut CaseGen, dims: &[usize], bounds: usize) -> Vec<Tensor> {
    let stored = quantised(r.ints(dims, -70000, 70000), DataType::Qint32);
    let bounds = [-1e6f32, 1e6, -25.0, 30.0].into_iter().take(bounds).map(Tensor::scalar);
    stored.into_iter().chain(bounds).collect()
}

fn channels(r: &mut CaseGen, bounds: usize) -> Vec<Tensor> {
    let stored = quantised(r.ints(&[1, 2, 2, 3], -70000, 70000), DataType::Qint32);
    let ranges = [r.range(&[3], -2e6, -5e5), r.range(&[3], 5e5, 2e6)];
    let wanted = [-25f32, 30.0].into_iter().take(bounds - 2).map(Tensor::scalar);
    stored.into_iter().chain(ranges).chain(wanted).collect()
}

/// The floats of the least and of the greatest element; the former not above 0, so that 0 has a level.
fn used_range(c: &OpCall<'_>) -> Result<(f32, f32)> {
    let levels = Levels::new(DataType::Qint32, bounds(c, 1)?)?;
    let stored = integers(c.input(0)?)?;
    let (mut least, mut most) = (i32::MAX, i32::MIN);
    for v in stored.as_slice::<i32>()? {
        (least, most) = (least.min(*v), most.max(*v));
    }
    Ok((levels.float(least).min(0.0), levels.float(most)))
}

fn shrink(c: &mut OpCall<'_>) -> Result<()> {
    let range = used_range(c)?;
    to_range(c, range)
}

fn requantize(c: &mut OpCall<'_>) -> Result<()> {
    let (low, high) = bounds(c, 3)?;
    if low.is_nan() || low > 0.0 {
        return Err(invalid!("requested_output_min must be <= 0, but got {low}"));
    }
    if high.is_nan() || high < low {
        return Err(invalid!(
            "requested_output_max must be >= requested_output_min, but got {high} and {low}"
        ));
    }
    to_range(c, (low, high))
}

/// The input's floats as integers of another range.
fn to_range(c: &mut OpCall<'_>, range: (f32, f32)) -> Result<()> {
    let dtype = c.output_type(0)?;
    let old = bounds(c, 1)?;
    let stored = integers(c.input(0)?)?;
    let x = stored.as_slice::<i32>()?;
    let mut out = Tensor::uninit(DataType::Int32, c.shape(0)?.clone())?;
    let levels = out.as_mut_slice::<i32>()?;
    if dtype == DataType::Quint8 {
        let fixed = FixedPoint::new(old, range);
        for_chunks_of(c.par(), levels, 1, 1 << 14, &|at, out| {
            out.iter_mut().zip(&x[at]).for_each(|(out, x)| *out = fixed.level(*x));
        });
    } else {
        let (scale, offset) = Levels::new(DataType::Qint32, old)?.line();
        let rounding = Levels::new(dtype, range)?.rounding();
        for_chunks_of(c.par(), levels, 1, 1 << 14, &|at, out| {
            out.iter_mut().zip(&x[at]).for_each(|(out, x)| *out = rounding.level(offset + *x as f32 * scale));
        });
    }
    c.set(0, quantised(out, dtype)?);
    c.set(1, Tensor::scalar(range.0));
    c.set(2, Tensor::scalar(range.1));
    Ok(())
}

/// int32 to uint8 without floats: numbers with 16 bits behind the point, as TensorFlow has them.
#[derive(Clone, Copy)]
struct FixedPoint {
    scale: i64,
    offset: i64,
}

impl FixedPoint {
    fn new(old: (f32, f32), new: (f32, f32)) -> FixedPoint {
        let (from, to) = (old.1 - old.0, new.1 - new.0);
        if to == 0.0 {
            return FixedPoint { scale: 0, offset: 0 };
        }
        let one = f64::from(1 << 16);
        let scale = (255.0 * one * f64::from(from) / f64::from(to)) as i64;
        let middle =
            ((f64::from(old.0 + old.1) / 2.0) as f32 * (255.0 / f64::from(to)) as f32 * 65536.0) as i64;
        let bottom = (one * (f64::from(new.0) * 255.0) / f64::from(to)) as i64;
        FixedPoint { scale, offset: middle.wrapping_sub(bottom).wrapping_add(1 << 15) }
    }

    fn level(&self, x: i32) -> i32 {
        let scaled = i64::from(x).wrapping_mul(self.scale) >> 32;
        (scaled.wrapping_add(self.offset) >> 16).clamp(0, 255) as i32
    }
}

/// The channels of images, and how far each one's range reaches from 0.
fn reaches(c: &OpCall<'_>) -> Result<(usize, Vec<f32>)> {
    let shape = c.shape(0)?;
    let &[_, _, _, depth] = &shape[..] else {
        return Err(invalid!("input must be in NHWC format: 4D tensors only, got {shape}"));
    };
    let (low, high) = (c.input(1)?, c.input(2)?);
    for (i, t) in [(1, low), (2, high)] {
        if t.rank() != 1 || t.elements() != depth {
            return Err(invalid!(
                "{} has incorrect size, expected the number of channels {depth} was {}",
                c.input_name(i),
                t.shape()
            ));
        }
    }
    let pairs = low.as_slice::<f32>()?.iter().zip(high.as_slice::<f32>()?);
    Ok((depth, reserve::collect(pairs.map(|(low, high)| low.abs().max(high.abs())))?))
}

fn range_per_channel(c: &mut OpCall<'_>) -> Result<()> {
    let clip = c.attrs().float("clip_value_max")?;
    let (depth, reaches) = reaches(c)?;
    let stored = integers(c.input(0)?)?;
    let mut used = reserve::filled(depth, (i32::MAX, i32::MIN))?;
    if depth > 0 {
        for pixel in stored.as_slice::<i32>()?.chunks_exact(depth) {
            for (used, v) in used.iter_mut().zip(pixel) {
                *used = (used.0.min(*v), used.1.max(*v));
            }
        }
    }
    let mut widest = f32::MIN_POSITIVE;
    for ((least, most), reach) in used.iter().zip(reaches) {
        let far = least.unsigned_abs().max(most.unsigned_abs());
        widest = widest.max(reach * far as f32 / (1u32 << 31) as f32);
    }
    let widest = if widest > clip { clip } else { widest };
    let signed = used.iter().any(|(least, _)| *least < 0);
    c.set(0, Tensor::scalar(if signed { -widest } else { 0.0 }));
    c.set(1, Tensor::scalar(widest));
    Ok(())
}

fn requantize_per_channel(c: &mut OpCall<'_>) -> Result<()> {
    let dtype = c.output_type(0)?;
    let (low, high) = (bound(c, 3)?, bound(c, 4)?);
    let (least, most) = crate::levels::limits(dtype)?;
    if least < 0 && low >= 0.0 {
        return Err(invalid!("If out_type is QINT8, requested_output_min must be negative, got {low}"));
    }
    let (_, reaches) = reaches(c)?;
    let widest = low.abs().max(high.abs());
    let scale = |reach: f32| most as f32 * (reach / widest / (1u32 << 31) as f32);
    let scales = reserve::collect(reaches.into_iter().map(scale))?;
    let stored = integers(c.input(0)?)?;
    let x = stored.as_slice::<i32>()?;
    let mut out = Tensor::uninit(DataType::Int32, c.shape(0)?.clone())?;
    for_slices(c.par(), (&scales, 1), x, out.as_mut_slice::<i32>()?, |scale, x: i32| {
        (x as f32 * scale).nearest().clamp(least as f32, most as f32) as i32
    });
    c.set(0, quantised(out, dtype)?);
    c.set(1, Tensor::scalar(low));
    c.set(2, Tensor::scalar(high));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_point_levels_are_those_of_tensorflow() {
        let v = [i32::MIN, -1000000000, -5, 0, 7, 1000000, 123456789, i32::MAX];
        let fixed = FixedPoint::new((-100.0, 50.0), (-60.0, 40.0));
        assert_eq!(v.map(|v| fixed.level(v)), [0, 0, 89, 89, 89, 89, 100, 255]);
        let fixed = FixedPoint::new((-100.0, 50.0), (-100.0, 50.0));
        assert_eq!(v.map(|v| fixed.level(v)), [0, 68, 127, 128, 128, 128, 135, 255]);
    }
}
