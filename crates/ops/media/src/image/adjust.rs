//! `AdjustContrast`, `AdjustContrastv2`, `AdjustHue`, `AdjustSaturation`: images with one property changed.

use super::hsv::hsv;
use crate::elementwise::for_chunks_of;
use crate::prelude::*;

pub static OPS: &[&Op] = &[&ADJUST_CONTRAST, &ADJUST_CONTRAST_V2, &ADJUST_HUE, &ADJUST_SATURATION];

static ADJUST_CONTRAST_V2: Op = Op {
    name: "AdjustContrastv2",
    doc: "Each channel of each image, its distance from its mean multiplied.",
    inputs: &["images: T", "contrast_factor: float"],
    outputs: &["output: T"],
    attrs: &["T: {half, float} = DT_FLOAT"],
    shape: |c| {
        c.scalar(1)?;
        Ok(vec![c.rank_at_least(0, 3)?])
    },
    grad: Missing,
    kernels: cpu!(contrast: T in f32),
    cases: |r| vec![Case::new(vec![r.tensor(&[2, 3, 4, 3]), Tensor::scalar(1.75f32)])],
    expensive: true,
    ..Op::PURE
};

static ADJUST_CONTRAST: Op = Op {
    name: "AdjustContrast",
    doc: "AdjustContrastv2 of any numbers in floats, which are kept between two bounds.",
    inputs: &["images: T", "contrast_factor: float", "min_value: float", "max_value: float"],
    outputs: &["output: float"],
    attrs: &["T: {uint8, int8, int16, int32, int64, float, double}"],
    shape: |c| {
        for i in 1..4 {
            c.scalar(i)?;
        }
        Ok(vec![c.rank_at_least(0, 3)?])
    },
    kernels: cpu!(bounded_contrast: T in u8, i8, i16, i32, i64, f32, f64),
    cases: |r| {
        let scalars = [1.75f32, -0.5, 0.75].map(Tensor::scalar);
        vec![Case::new([r.tensor(&[2, 3, 4, 3])].into_iter().chain(scalars).collect())]
    },
    ..ADJUST_CONTRAST_V2
};

static ADJUST_HUE: Op = Op {
    name: "AdjustHue",
    doc: "RGB colours, their hue turned: 1 is the full circle.",
    inputs: &["images: T", "delta: float"],
    kernels: cpu!(hue: T in f32),
    cases: |r| {
        let mut case = |delta: f32| Case::new(vec![r.range(&[2, 3, 3], 0.0, 1.0), Tensor::scalar(delta)]);
        vec![case(0.3), case(-0.45)]
    },
    ..ADJUST_CONTRAST_V2
};

static ADJUST_SATURATION: Op = Op {
    name: "AdjustSaturation",
    doc: "RGB colours, their saturation multiplied.",
    inputs: &["images: T", "scale: float"],
    kernels: cpu!(saturation: T in f32),
    cases: |r| {
        let mut case = |scale: f32| Case::new(vec![r.range(&[2, 3, 3], 0.0, 1.0), Tensor::scalar(scale)]);
        vec![case(0.4), case(2.5)]
    },
    ..ADJUST_CONTRAST_V2
};

fn image_dims(c: &OpCall<'_>) -> Result<[usize; 3]> {
    match c.shape(0)?.split_last_chunk::<3>() {
        Some((_, dims)) => Ok(*dims),
        None => Err(invalid!("input must be at least 3-D, got shape {}", c.shape(0)?)),
    }
}

fn contrast<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    contrasted::<T, T>(c, |v| v)
}

fn bounded_contrast<T: Real>(c: &mut OpCall<'_>) -> Result<()> {
    let (low, high) = (f64::from(c.scalar::<f32>(2)?), f64::from(c.scalar::<f32>(3)?));
    contrasted::<T, f32>(c, |v| v.min(high).max(low))
}

fn contrasted<T: Real, O: Float>(c: &mut OpCall<'_>, bounded: impl Fn(f64) -> f64 + Sync) -> Result<()> {
    let [height, width, depth] = image_dims(c)?;
    if !c.shape(1)?.is_scalar() {
        return Err(invalid!("contrast_factor must be scalar, got shape {}", c.shape(1)?));
    }
    let factor = f64::from(c.scalar::<f32>(1)?);
    let area = height * width * depth;
    let mut out = Tensor::uninit(O::DTYPE, c.shape(0)?.clone())?;
    let x = c.slice::<T>(0)?;
    for_chunks_of(c.par(), out.as_mut_slice::<O>()?, area, 1, &|images, out| {
        let mut means = scratch::filled(depth, 0f64);
        for (image, out) in images.zip(out.chunks_exact_mut(area.max(1))) {
            let x = &x[image * area..][..area];
            means.fill(0.0);
            for pixel in x.chunks_exact(depth) {
                means.iter_mut().zip(pixel).for_each(|(mean, v)| *mean += v.to_f64());
            }
            means.iter_mut().for_each(|mean| *mean = (*mean / (height * width) as f64) as f32 as f64);
            for (pixel, out) in x.chunks_exact(depth).zip(out.chunks_exact_mut(depth)) {
                for ((v, mean), out) in pixel.iter().zip(&means).zip(out) {
                    *out = O::from_f64(bounded((v.to_f64() - mean) * factor + mean));
                }
            }
        }
    });
    c.set(0, out);
    Ok(())
}

/// Output 0: `f` of each pixel of input 0 and the scalar input 1.
fn each_pixel<T: Float>(c: &mut OpCall<'_>, name: &str, f: fn([f32; 3], f32) -> [f32; 3]) -> Result<()> {
    let [_, _, depth] = image_dims(c)?;
    if !c.shape(1)?.is_scalar() {
        return Err(invalid!("{name} must be scalar, got shape {}", c.shape(1)?));
    }
    if depth != 3 {
        return Err(invalid!("input must have 3 channels but instead has {depth} channels."));
    }
    let by = c.scalar::<f32>(1)?;
    let mut out = Tensor::uninit(T::DTYPE, c.shape(0)?.clone())?;
    let x = c.slice::<T>(0)?;
    for_chunks_of(c.par(), out.as_mut_slice::<T>()?, 3, 1024, &|pixels, out| {
        let (x, out) = (x[3 * pixels.start..].as_chunks::<3>().0, out.as_chunks_mut::<3>().0);
        for (x, out) in x.iter().zip(out) {
            *out = f(x.map(|v| v.to_f64() as f32), by).map(|v| T::from_f64(v.into()));
        }
    });
    c.set(0, out);
    Ok(())
}

fn hue<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    each_pixel::<T>(c, "delta", |rgb, delta| {
        let [r, g, b] = rgb;
        let (high, low) = (r.max(g).max(b), r.min(g).min(b));
        let range = high - low;
        let sextants = match range == 0.0 {
            true => 0.0,
            false if r == high => (g - b) / range,
            false if g == high => (b - r) / range + 2.0,
            false => (r - g) / range + 4.0,
        };
        let turned = (sextants + delta * 6.0).rem_euclid(6.0);
        // A hair below a full turn may round up to it.
        let turned = if turned >= 6.0 { 0.0 } else { turned };
        let sector = turned as u32;
        let part = turned - sector as f32;
        let middle = low + (if sector.is_multiple_of(2) { part } else { 1.0 - part }) * range;
        match sector {
            0 => [high, middle, low],
            1 => [middle, high, low],
            2 => [low, high, middle],
            3 => [low, middle, high],
            4 => [middle, low, high],
            _ => [high, low, middle],
        }
    })
}

fn saturation<T: Float>(c: &mut OpCall<'_>) -> Result<()> {
    each_pixel::<T>(c, "scale", |rgb, scale| {
        let [h, s, v] = hsv(rgb);
        let s = (s * scale).clamp(0.0, 1.0);
        let (colour, sextants) = (s * v, h * 6.0);
        let least = v - colour;
        let middle = colour * (1.0 - (sextants.rem_euclid(2.0) - 1.0).abs());
        let [r, g, b] = match sextants as u32 {
            0 => [colour, middle, 0.0],
            1 => [middle, colour, 0.0],
            2 => [0.0, colour, middle],
            3 => [0.0, middle, colour],
            4 => [middle, 0.0, colour],
            5 => [colour, 0.0, middle],
            _ => [0.0; 3],
        };
        [r + least, g + least, b + least]
    })
}
