//! `ExtractGlimpse`, `ExtractGlimpseV2`: a window of each image around a point; noise where it leaves the image.

use super::resize_axis::four;
use crate::elementwise::for_chunks_of;
use crate::prelude::*;
use thalweg_math::random::{Philox, Words};

pub static OPS: &[&Op] = &[&EXTRACT_GLIMPSE, &EXTRACT_GLIMPSE_V2];

static EXTRACT_GLIMPSE: Op = Op {
    name: "ExtractGlimpse",
    doc: "A window of each image around its offset, filled with noise outside of the image.",
    inputs: &["input: float", "size: int32", "offsets: float"],
    outputs: &["glimpse: float"],
    attrs: &[
        "centered: bool = true",
        "normalized: bool = true",
        "uniform_noise: bool = true",
        "noise: string = 'uniform'",
    ],
    shape: |c| {
        let (x, offsets) = (c.rank(0, 4)?, c.rank(2, 2)?);
        let size = c.as_shape(1)?.merge(&PartialShape::unknown_of_rank(2))?;
        merge_dim(offsets.dim(1), 2)?;
        let batch = merge_dim(x.dim(0), offsets.dim(0))?;
        Ok(vec![[batch, size.dim(0), size.dim(1), x.dim(3)].into_iter().collect()])
    },
    grad: Stops,
    kernels: cpu!(make of_first),
    cases: |r| {
        let mut case = |centered: bool, normalized: bool| {
            let offsets = r.range(&[2, 2], -0.6, 1.2);
            Case::new(vec![r.tensor(&[2, 5, 4, 3]), int_vector(&[3, 2]), offsets])
                .attr("centered", centered)
                .attr("normalized", normalized)
                .attr("uniform_noise", false)
                .attr("noise", "zero")
        };
        vec![case(true, true), case(false, true), case(false, false), case(true, false)]
    },
    host_inputs: &["size"],
    expensive: true,
    ..Op::PURE
};

static EXTRACT_GLIMPSE_V2: Op =
    Op { name: "ExtractGlimpseV2", grad: Missing, kernels: cpu!(make of_second), ..EXTRACT_GLIMPSE };

#[derive(Clone, Copy)]
enum Noise {
    Zero,
    Uniform,
    Gaussian,
}

impl Noise {
    fn of(attrs: &Attrs) -> Result<Noise> {
        let (uniform, noise) = (attrs.bool("uniform_noise")?, attrs.str("noise")?);
        match (uniform, noise) {
            (true, "" | "uniform") | (false, "uniform") => Ok(Noise::Uniform),
            (true, other) => Err(invalid!(
                "uniform_noise and noise should not be specified at the same time: noise is '{other}'"
            )),
            (false, "" | "gaussian") => Ok(Noise::Gaussian),
            (false, "zero") => Ok(Noise::Zero),
            (false, other) => Err(invalid!("noise must be 'uniform', 'gaussian' or 'zero', got '{other}'")),
        }
    }
}

#[derive(Clone, Copy)]
struct Place {
    centered: bool,
    normalized: bool,
    first_version: bool,
}

impl Place {
    /// Where the window begins along an axis; the first version takes half of the window off in any case, the second only
    /// where the offset is relative to the centre.
    fn start(&self, offset: f32, image: usize, window: usize) -> i64 {
        let (image, window) = (image as f32, window as f32);
        let scaled = if self.normalized { offset * image } else { offset };
        let around_centre = |x: f32| x / 2.0 + image / 2.0;
        let start = match (self.first_version, self.normalized, self.centered) {
            (true, _, true) => around_centre(scaled) - window / 2.0,
            (true, _, false) => scaled - window / 2.0,
            (false, true, true) => around_centre(scaled) - window / 2.0,
            (false, false, true) => scaled + image / 2.0,
            (false, _, false) => scaled,
        };
        start as i64
    }
}

/// The part of a window that lies in the image: its place in the image, in the window, and its length.
fn overlap(start: i64, window: usize, image: usize) -> (usize, usize, usize) {
    let outside = usize::try_from(start.saturating_neg()).unwrap_or(0).min(window);
    let from = usize::try_from(start).unwrap_or(0).min(image);
    (from, outside, (window - outside).min(image - from))
}

fn of_first(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare(node, true)
}

fn of_second(node: &KernelNode) -> Result<Box<dyn Kernel>> {
    prepare(node, false)
}

fn prepare(node: &KernelNode, first_version: bool) -> Result<Box<dyn Kernel>> {
    let noise = Noise::of(&node.attrs)?;
    let (centered, normalized) = (node.attrs.bool("centered")?, node.attrs.bool("normalized")?);
    let place = Place { centered, normalized, first_version };
    Ok(Box::new(move |c: &mut OpCall<'_>| {
        let [batch, height, width, depth] = four(c, 0)?;
        let size = c.int_vector(1)?;
        let [rows, cols] = match size[..] {
            [rows, cols] if rows > 0 && cols > 0 => [rows as usize, cols as usize],
            [..] if size.len() == 2 => {
                return Err(invalid!("Invalid output size, the glimpse must be positive: {size:?}"));
            }
            _ => return Err(invalid!("input must be a vector of size 2, got {} sizes", size.len())),
        };
        if c.shape(2)?.dims() != [batch, 2] {
            return Err(invalid!(
                "input must be a tensor of shape [{batch}, 2] for the offsets, got {}",
                c.shape(2)?
            ));
        }
        if height == 0 || width == 0 {
            return Err(invalid!("input must have at least one pixel, got {}", c.shape(0)?));
        }
        let mut out = Tensor::zeros(DataType::Float, Shape::new(&[batch, rows, cols, depth])?)?;
        let (x, offsets) = (c.slice::<f32>(0)?, c.slice::<f32>(2)?);
        let stream = Philox::new((c.step.device.entropy)() as i64, 0);
        let (area, window) = (height * width * depth, rows * cols * depth);
        for_chunks_of(c.par(), out.as_mut_slice::<f32>()?, window, 1, &|images, out| {
            for (image, out) in images.zip(out.chunks_exact_mut(window.max(1))) {
                let x = &x[image * area..][..area];
                let (from_y, to_y, tall) =
                    overlap(place.start(offsets[2 * image], height, rows), rows, height);
                let (from_x, to_x, wide) =
                    overlap(place.start(offsets[2 * image + 1], width, cols), cols, width);
                if (tall, wide) != (rows, cols) {
                    let mut words = Words::new(stream.skipped((image as u64) << 32));
                    fill(noise, x, depth, out, &mut words);
                }
                for row in 0..tall {
                    let from = &x[((from_y + row) * width + from_x) * depth..][..wide * depth];
                    out[((to_y + row) * cols + to_x) * depth..][..wide * depth].copy_from_slice(from);
                }
            }
        });
        c.set(0, out);
        Ok(())
    }))
}

/// Noise in the range of the image's values, or with the mean and deviation of each channel.
fn fill(noise: Noise, image: &[f32], depth: usize, out: &mut [f32], words: &mut Words) {
    let range = |values: &mut dyn Iterator<Item = f32>| {
        values.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
    };
    match noise {
        Noise::Zero => {}
        Noise::Uniform => {
            let (low, high) = range(&mut image.iter().copied());
            out.iter_mut().for_each(|v| *v = low + words.next_f64() as f32 * (high - low));
        }
        Noise::Gaussian => {
            for channel in 0..depth {
                let values = || image.iter().copied().skip(channel).step_by(depth);
                let count = (image.len() / depth) as f64;
                let mean = values().map(f64::from).sum::<f64>() / count;
                let square = |v: f32| (f64::from(v) - mean) * (f64::from(v) - mean);
                let deviation = (values().map(square).sum::<f64>() / count).sqrt();
                let (low, high) = range(&mut values());
                for v in out.iter_mut().skip(channel).step_by(depth) {
                    *v = ((mean + deviation * normal(words)) as f32).min(high).max(low);
                }
            }
        }
    }
}

/// A normal number, by Box and Muller.
fn normal(words: &mut Words) -> f64 {
    let (u, v) = (1.0 - words.next_f64(), words.next_f64());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

#[cfg(test)]
mod tests {
    use crate::prelude::*;
    use crate::testing::{call, floats, ints};

    /// Noise is within the range of the image, and does not touch what is inside of it.
    #[test]
    fn noise_surrounds_what_is_seen_of_the_image() {
        let image = floats(&[1, 2, 2, 1], &[1.0, 2.0, 3.0, 4.0]);
        let offsets = floats(&[1, 2], &[0.0, 0.0]);
        for noise in ["uniform", "gaussian", "zero"] {
            let attrs = [("uniform_noise", Attr::Bool(false)), ("noise", Attr::str(noise))];
            let got = call("ExtractGlimpse", &[image.clone(), ints(&[2], &[4, 4]), offsets.clone()], &attrs);
            let got = got.unwrap();
            let values = got[0].as_slice::<f32>().unwrap();
            let inside: Vec<f32> = [5, 6, 9, 10].iter().map(|i| values[*i]).collect();
            assert_eq!(inside, [1.0, 2.0, 3.0, 4.0], "{noise}");
            let low = if noise == "zero" { 0.0 } else { 1.0 };
            assert!(values.iter().all(|v| (low..=4.0).contains(v)), "{noise}: {values:?}");
        }
    }
}
