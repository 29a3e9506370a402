//! `QuantizedInstanceNorm` and `QuantizedBatchNormWithGlobalNormalization`.

use super::requantize::row;
use crate::elementwise::{for_chunks_of, for_slices};
use crate::levels::{Levels, bounds, integers, quantised};
use crate::prelude::*;

pub static OPS: &[&Op] = &[&QUANTIZED_INSTANCE_NORM, &QUANTIZED_BATCH_NORM];

static QUANTIZED_INSTANCE_NORM: Op = Op {
    name: "QuantizedInstanceNorm",
    doc: "Each channel of each image with mean 0 and variance 1.",
    inputs: &["x: T", "x_min: float", "x_max: float"],
    outputs: &["y: T", "y_min: float", "y_max: float"],
    attrs: &[
        "T: {qint8, quint8, qint32, qint16, quint16}",
        "output_range_given: bool = false",
        "given_y_min: float = 0.0",
        "given_y_max: float = 0.0",
        "variance_epsilon: float = 1e-05",
        "min_separation: float = 0.001",
    ],
    shape: |c| {
        let x = c.rank(0, 4)?;
        c.scalar(1)?;
        c.scalar(2)?;
        Ok(vec![x, PartialShape::scalar(), PartialShape::scalar()])
    },
    grad: Missing,
    kernels: &[row(&[("T", DataType::Quint8)], instance_norm)],
    cases: |r| {
        let images = quantised(r.ints(&[2, 3, 4, 3], 0, 255), DataType::Quint8);
        let bounds = [-1f32, 2.0].map(Tensor::scalar);
        let case = Case::new(images.into_iter().chain(bounds).collect());
        let given = case.clone().attr("output_range_given", true);
        vec![case, given.attr("given_y_min", -2f32).attr("given_y_max", 1.5f32)]
    },
    ..Op::PURE
};

static QUANTIZED_BATCH_NORM: Op = Op {
    name: "QuantizedBatchNormWithGlobalNormalization",
    doc: "Images normalised by the mean and variance given, in 32 bits.",
    inputs: &[
        "t: Tinput",
        "t_min: float",
        "t_max: float",
        "m: Tinput",
        "m_min: float",
        "m_max: float",
        "v: Tinput",
        "v_min: float",
        "v_max: float",
        "beta: Tinput",
        "beta_min: float",
        "beta_max: float",
        "gamma: Tinput",
        "gamma_min: float",
        "gamma_max: float",
    ],
    outputs: &["result: out_type", "result_min: float", "result_max: float"],
    attrs: &[
        "Tinput: {qint8, quint8, qint32, qint16, quint16}",
        "out_type: {qint8, quint8, qint32, qint16, quint16}",
        "variance_epsilon: float",
        "scale_after_normalization: bool",
    ],
    shape: |c| {
        let images = c.rank(0, 4)?;
        let mut depth = images.dim(3);
        for i in 0..5 {
            if i > 0 {
                depth = merge_dim(depth, c.rank(3 * i, 1)?.dim(0))?;
            }
            c.scalar(3 * i + 1)?;
            c.scalar(3 * i + 2)?;
        }
        let out = [images.dim(0), images.dim(1), images.dim(2), depth].into_iter().collect();
        Ok(vec![out, PartialShape::scalar(), PartialShape::scalar()])
    },
    grad: Missing,
    kernels: &[row(&[("Tinput", DataType::Quint8), ("out_type", DataType::Qint32)], batch_norm)],
    cases: |r| {
        let mut with = |dims: &[usize], low: f32, high: f32| {
            let stored = quantised(r.ints(dims, 0, 255), DataType::Quint8);
            stored.into_iter().chain([low, high].map(Tensor::scalar)).collect::<Vec<_>>()
        };
        let inputs = [
            with(&[1, 2, 3, 4], -10.0, 10.0),
            with(&[4], -2.0, 2.0),
            with(&[4], 0.5, 4.0),
            with(&[4], -1.0, 1.0),
            with(&[4], 0.0, 3.0),
        ];
        let case = |scale: bool| {
            let case = Case::new(inputs.concat()).attr("out_type", DataType::Qint32);
            case.attr("variance_epsilon", 0.001f32).attr("scale_after_normalization", scale)
        };
        vec![case(true), case(false)]
    },
    ..Op::PURE
};

fn instance_norm(c: &mut OpCall<'_>) -> Result<()> {
    let shape = c.shape(0)?.clone();
    let &[_, rows, cols, depth] = &shape[..] else {
        return Err(invalid!("x must be 4-dimensional, got {shape}"));
    };
    let (low, high) = bounds(c, 1)?;
    if low.is_nan() || high.is_nan() || low >= high {
        return Err(invalid!("input_min must be less than input_max : {low} >= {high}"));
    }
    let (scale, epsilon) = ((high - low) / 255.0, c.attrs().float("variance_epsilon")?);
    let stored = integers(c.input(0)?)?;
    let x = stored.as_slice::<i32>()?;
    let mut normed = Tensor::uninit(DataType::Float, shape)?;
    let image = rows * cols * depth;
    if normed.elements() > 0 {
        for_chunks_of(c.par(), normed.as_mut_slice::<f32>()?, image, 1, &|images, out| {
            for (x, out) in x[images.start * image..].chunks_exact(image).zip(out.chunks_exact_mut(image)) {
                normalise(x, out, depth, scale, epsilon);
            }
        });
    }
    let y = normed.as_slice::<f32>()?;
    let (low, mut high) = match c.attrs().bool("output_range_given")? {
        true => {
            let (low, high) = (c.attrs().float("given_y_min")?, c.attrs().float("given_y_max")?);
            if low.is_nan() || high.is_nan() || low >= high {
                return Err(invalid!("given_y_min must be less than given_y_max : {low} >= {high}"));
            }
            (low, high)
        }
        false => {
            y.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), y| (low.min(*y), high.max(*y)))
        }
    };
    let apart = c.attrs().float("min_separation")?;
    if high - low < apart {
        high = low + apart;
    }
    let rounding = Levels::new(DataType::Quint8, (low, high))?.rounding();
    let mut out = Tensor::uninit(DataType::Int32, normed.shape().clone())?;
    for_chunks_of(c.par(), out.as_mut_slice::<i32>()?, 1, 1 << 14, &|range, out| {
        out.iter_mut().zip(&y[range]).for_each(|(out, y)| *out = rounding.level(*y));
    });
    c.set(0, quantised(out, DataType::Quint8)?);
    c.set(1, Tensor::scalar(low));
    c.set(2, Tensor::scalar(high));
    Ok(())
}

/// The channels of one image, each less its mean and by its deviation. Sums are by pixel, in TensorFlow's order.
fn normalise(x: &[i32], out: &mut [f32], depth: usize, scale: f32, epsilon: f32) {
    let count = (x.len() / depth) as f32;
    let mut means = scratch::filled(depth, 0f32);
    for pixel in x.chunks_exact(depth) {
        means.iter_mut().zip(pixel).for_each(|(sum, x)| *sum += *x as f32);
    }
    means.iter_mut().for_each(|sum| *sum /= count);
    let mut spreads = scratch::filled(depth, 0f32);
    for pixel in x.chunks_exact(depth) {
        for ((sum, x), mean) in spreads.iter_mut().zip(pixel).zip(&means) {
            let far = scale * (*x as f32 - mean);
            *sum += far * far;
        }
    }
    spreads.iter_mut().for_each(|sum| *sum = 1.0 / (*sum / count + epsilon).sqrt());
    for (pixel, out) in x.chunks_exact(depth).zip(out.chunks_exact_mut(depth)) {
        for (i, (x, out)) in pixel.iter().zip(out).enumerate() {
            *out = scale * (*x as f32 - means[i]) * spreads[i];
        }
    }
}

/// The range of the result: numbers with 11 bits behind the point.
const RANGE: (f32, f32) = (-1048576.0, 1048576.0);

fn batch_norm(c: &mut OpCall<'_>) -> Result<()> {
    let shape = c.shape(0)?.clone();
    let &[_, _, _, depth] = &shape[..] else {
        return Err(invalid!("input must be 4-dimensional, got {shape}"));
    };
    let epsilon = c.attrs().float("variance_epsilon")?;
    let scaled = c.attrs().bool("scale_after_normalization")?;
    let [mean, variance, beta, gamma] = [3, 6, 9, 12].map(|i| floats(c, i, depth));
    let (mean, variance, beta, gamma) = (mean?, variance?, beta?, gamma?);
    let fixed = Levels::new(DataType::Qint32, RANGE)?;
    let lines = reserve::collect((0..depth).map(|i| {
        let scale = 1.0 / (variance[i] + epsilon).sqrt();
        let scale = if scaled { scale * gamma[i] } else { scale };
        (fixed.level(scale), fixed.level(-mean[i] * scale + beta[i]))
    }))?;
    let (levels, one) = (Levels::new(DataType::Quint8, bounds(c, 1)?)?, fixed.level(1.0).max(1));
    // There are only so many 8-bit integers.
    let moved: Vec<i32> = (0..256).map(|level| fixed.level(levels.float(level))).collect();
    let stored = integers(c.input(0)?)?;
    let x = stored.as_slice::<i32>()?;
    let mut out = Tensor::uninit(DataType::Int32, shape)?;
    for_slices(c.par(), (&lines, 1), x, out.as_mut_slice::<i32>()?, |(scale, offset), x: i32| {
        (moved[x as usize & 255].wrapping_mul(*scale) / one).wrapping_add(*offset)
    });
    c.set(0, quantised(out, DataType::Qint32)?);
    c.set(1, Tensor::scalar(RANGE.0));
    c.set(2, Tensor::scalar(RANGE.1));
    Ok(())
}

/// The floats of the vector in input `i`, whose bounds follow it.
fn floats(c: &OpCall<'_>, i: usize, depth: usize) -> Result<Vec<f32>> {
    let t = c.input(i)?;
    if t.rank() != 1 || t.elements() != depth {
        return Err(invalid!(
            "{} must have a number for each of {depth} channels, got shape {}",
            c.input_name(i),
            t.shape()
        ));
    }
    let levels = Levels::new(t.dtype(), bounds(c, i + 1)?)?;
    reserve::collect(integers(t)?.as_slice::<i32>()?.iter().map(|level| levels.float(*level)))
}
