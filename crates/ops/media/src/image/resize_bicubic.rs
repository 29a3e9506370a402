//! `ResizeBicubic`: resizing by cubic convolution of 4 by 4 pixels; and its gradient.

use super::resize_axis::{
    Mapping, four, mapping_attrs, not_empty, resized_shape, size_input, with_each_mapping,
};
use super::weighted::{Taps, resize, spread};
use crate::prelude::*;

pub static OPS: &[&Op] = &[&RESIZE_BICUBIC, &RESIZE_BICUBIC_GRAD];

static RESIZE_BICUBIC: Op = Op {
    name: "ResizeBicubic",
    doc: "Resized images, by bicubic interpolation.",
    inputs: &["images: T", "size: int32"],
    outputs: &["resized_images: float"],
    attrs: &[
        "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}",
        "align_corners: bool = false",
        "half_pixel_centers: bool = false",
    ],
    shape: resized_shape,
    grad: Rule(|g| {
        let (x, dy, attrs) = (g.x[0], g.dy()?, mapping_attrs(g.attrs));
        if !matches!(g.graph.dtype(x), DataType::Float | DataType::Double) {
            return Ok(vec![Grad::None, Grad::None]);
        }
        Ok(vec![g.op("ResizeBicubicGrad", [dy.into(), x.into()], &attrs)?.into(), Grad::None])
    }),
    kernels: cpu!(make prepare: T in f32, f64, f16, bf16, i8, u8, i16, u16, i32, i64),
    cases: |r| with_each_mapping(|| Case::new(vec![r.tensor(&[2, 3, 4, 2]), int_vector(&[5, 3])])),
    expensive: true,
    host_inputs: &["size"],
    ..Op::PURE
};

static RESIZE_BICUBIC_GRAD: Op = Op {
    name: "ResizeBicubicGrad",
    doc: "The gradient of ResizeBicubic by images that are shaped as original_image.",
    inputs: &["grads: float", "original_image: T"],
    outputs: &["output: T"],
    attrs: &["T: {float, double}", "align_corners: bool = false", "half_pixel_centers: bool = false"],
    shape: |c| {
        // Batch and channels are those of grads: TensorFlow does not ask whether the image's are the same.
        let (dy, x) = (c.rank(0, 4)?, c.rank(1, 4)?);
        Ok(vec![[dy.dim(0), x.dim(1), x.dim(2), dy.dim(3)].into_iter().collect()])
    },
    grad: Missing,
    kernels: cpu!(make prepare_grad: T in f32, f64),
    cases: |r| with_each_mapping(|| Case::new(vec![r.tensor(&[2, 5, 3, 2]), r.tensor(&[2, 3, 4, 2])])),
    expensive: true,
    ..Op::PURE
};

/// Weights are taken at so many places between two pixels.
const PLACES: f32 = 1024.0;

/// The cubic kernel at distance `x` from the centre, up to 1, and from 1 to 2; `a` is its slope at 1.
fn near(a: f64, x: f32) -> f32 {
    let x = f64::from(x);
    (((a + 2.0) * x - (a + 3.0)) * x * x + 1.0) as f32
}

fn far(a: f64, x: f32) -> f32 {
    let x = f64::from(x + 1.0);
    (((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a) as f32
}

fn taps(mapping: &Mapping, old: usize, new: usize) -> Result<Taps> {
    let (scale, last) = (mapping.scale(old, new), old as i64 - 1);
    let keys = mapping.has_half_pixels();
    let a = if keys { -0.5 } else { -0.75 };
    let mut taps = Taps::new(new, 4)?;
    for i in 0..new {
        let x = mapping.place(i, scale);
        let first = x.floor();
        let part = ((x - first) * PLACES).round_ties_even() / PLACES;
        let mut weights = [far(a, part), near(a, part), near(a, 1.0 - part), far(a, 1.0 - part)];
        let places: [i64; 4] = std::array::from_fn(|k| first as i64 - 1 + k as i64);
        if keys {
            // What lies outside has no weight, and the rest is made to sum to 1.
            for (weight, place) in weights.iter_mut().zip(places) {
                *weight = if (0..=last).contains(&place) { *weight } else { 0.0 };
            }
            let sum = weights.iter().sum::<f32>();
            if sum.abs() >= 1000.0 * f32::MIN_POSITIVE {
                weights.iter_mut().for_each(|w| *w *= 1.0 / sum);
            }
        }
        for (place, weight) in places.into_iter().zip(weights) {
            taps.push(place.clamp(0, last) as usize, weight)?;
        }
    }
    Ok(taps)
}

fn prepare<T: Real>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let mapping = Mapping::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let (dims, size) = (four(c, 0)?, size_input(c, 1)?);
        not_empty(&dims)?;
        Shape::new(&[dims[0], size[0], size[1], dims[3]])?;
        let (down, across) = (taps(&mapping, dims[1], size[0])?, taps(&mapping, dims[2], size[1])?);
        let out = resize(c, c.slice::<T>(0)?, dims, size, [&down, &across])?;
        c.set(0, out);
        Ok(())
    }))
}

fn prepare_grad<T: Float>(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    let mapping = Mapping::of(&node.attrs)?;
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let ([batch, rows, cols, depth], dims) = (four(c, 0)?, four(c, 1)?);
        not_empty(&dims)?;
        if rows == 0 || cols == 0 {
            return Err(invalid!("grads of shape {} have no pixels", c.shape(0)?));
        }
        let dims = [batch, dims[1], dims[2], depth];
        let (down, across) = (taps(&mapping, dims[1], rows)?, taps(&mapping, dims[2], cols)?);
        let out = spread::<T>(c, c.slice::<f32>(0)?, dims, [rows, cols], [&down, &across])?;
        c.set(0, out);
        Ok(())
    }))
}
