//! `ImageSummary`: pictures, for event files.

use super::{serialized, tag, value};
use crate::prelude::*;
use bytes::Bytes;
use thalweg_io::png_file::{self, PngOptions};
use thalweg_proto::{Summary, summary};

pub static IMAGE_SUMMARY: Op = Op {
    name: "ImageSummary",
    doc: "A serialized Summary with up to `max_images` images of the batch; floats are scaled to the range of a pixel.",
    inputs: &["tag: string", "tensor: T"],
    outputs: &["summary: string"],
    attrs: &[
        "max_images: int >= 1 = 3",
        "T: {uint8, float, half, double} = DT_FLOAT",
        "bad_color: tensor = uint8 [255, 0, 0, 255]",
    ],
    shape: |c| {
        c.scalar(0)?;
        c.rank(1, 4)?;
        shape_call::scalar(c)
    },
    grad: Stops,
    kernels: cpu!(run),
    // No cases to compare: encoders compress the same image differently; the tests decode them.
    cases: |_| vec![],
    expensive: true,
    ..Op::PURE
};

fn run(c: &mut OpCall<'_>) -> Result<()> {
    let most = usize::try_from(c.attrs().int("max_images")?).unwrap_or(0);
    let summary = images(&tag(c, 0)?, c.input(1)?, most, c.attrs().tensor("bad_color")?)?;
    c.set(0, serialized(&summary)?);
    Ok(())
}

/// The first images of a batch; pixels with a value that is not finite have `bad_color`.
pub fn images(tag: &str, batch: &Tensor, most: usize, bad_color: &Tensor) -> Result<Summary> {
    let [count, height, width, channels] = batch.shape().dims()[..] else {
        return Err(not_images(batch));
    };
    if !matches!(channels, 1 | 3 | 4) {
        return Err(not_images(batch));
    }
    let options = PngOptions { width, height, channels, wide: false, compression: -1 };
    let (Ok(height), Ok(width)) = (i32::try_from(height), i32::try_from(width)) else {
        return Err(invalid!("images are at most 2^31 pixels wide and high, got shape {}", batch.shape()));
    };
    if height == 0 || width == 0 {
        return Err(invalid!("images must have at least one pixel, got shape {}", batch.shape()));
    }
    let bad = bad_color.as_slice::<u8>()?;
    if bad_color.rank() != 1 || bad.len() < channels {
        return Err(invalid!(
            "expected depth <= bad_color.size, got depth = {channels}, bad_color of shape {}",
            bad_color.shape()
        ));
    }
    let mut summary = Summary::default();
    for i in 0..count.min(most) {
        let one = batch.rows(i, 1)?;
        let pixels = pixels(&one, channels, bad)?;
        let image = summary::Image {
            height,
            width,
            colorspace: channels as i32,
            encoded_image_string: Bytes::from(png_file::encode(&pixels, options)?),
        };
        let tag = match most {
            1 => reserve::text(format_args!("{tag}/image"))?,
            _ => reserve::text(format_args!("{tag}/image/{i}"))?,
        };
        reserve::push(&mut summary.value, value(tag, summary::value::Value::Image(image)))?;
    }
    Ok(summary)
}

fn not_images(batch: &Tensor) -> Error {
    invalid!("Tensor must be 4-D with last dim 1, 3, or 4, not {}", batch.shape())
}

/// The pixels of an image as bytes.
fn pixels(image: &Tensor, channels: usize, bad: &[u8]) -> Result<Vec<u8>> {
    match image.dtype() {
        DataType::Uint8 => reserve::copied(image.as_slice::<u8>()?),
        DataType::Float => scaled(image.as_slice::<f32>()?, channels, bad),
        DataType::Double => scaled(image.as_slice::<f64>()?, channels, bad),
        DataType::Half => scaled(image.as_slice::<f16>()?, channels, bad),
        other => Err(invalid!("images are uint8, float, half or double, not {other}")),
    }
}

/// From 0 to the largest, or with negative values around the middle. As in TensorFlow the scale is found in single precision, and
/// pixels are computed in the precision of the image.
fn scaled<T: Float>(values: &[T], channels: usize, bad: &[u8]) -> Result<Vec<u8>> {
    const NOTHING: f32 = 1e-6;
    let is_finite = |pixel: &&[T]| pixel.iter().all(|v| v.to_f64().is_finite());
    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    for v in values.chunks_exact(channels).filter(is_finite).flatten() {
        let v = v.to_f64() as f32;
        (low, high) = (low.min(v), high.max(v));
    }
    let (largest, range, offset) =
        if low < 0.0 { (low.abs().max(high.abs()), 127.0, 128.0) } else { (high, 255.0, 0.0) };
    let scale = if largest < NOTHING { 0.0 } else { range / largest };
    // Products and sums of narrower floats are rounded once: double precision holds them.
    let rounded = |v: f64| T::from_f64(v).to_f64();
    let scale = rounded(f64::from(scale));
    let byte = |v: &T| truncated(rounded(rounded(v.to_f64() * scale) + offset));
    let mut out = reserve::with_capacity(values.len())?;
    for pixel in values.chunks_exact(channels) {
        match is_finite(&pixel) {
            true => out.extend(pixel.iter().map(byte)),
            false => out.extend(bad.iter().take(channels)),
        }
    }
    Ok(out)
}

/// A number as a byte. The scale of very dark halves is infinite: their pixels are black, not white.
fn truncated(v: f64) -> u8 {
    if v.is_finite() { v as u8 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_scaled_as_tensorflow_does() {
        let of = |v: &[f32]| scaled(v, 1, &[9]).unwrap();
        assert_eq!(of(&[0.0, 1.0, 2.0, 4.0]), [0, 63, 127, 255]);
        assert_eq!(of(&[-1.0, 0.0, 2.0, 1.0]), [64, 128, 255, 191]);
        assert_eq!(of(&[1.0, f32::NAN, 2.0, f32::INFINITY]), [127, 9, 255, 9]);
        assert_eq!(of(&[1e-30, 0.0]), [0, 0]);
        assert_eq!(of(&[f32::NAN]), [9]);
        let halves = |v: &[f32]| {
            let v: Vec<f16> = v.iter().map(|v| f16::from_f32(*v)).collect();
            scaled(&v, 1, &[9]).unwrap()
        };
        assert_eq!(halves(&[0.1, 0.2, 0.3, 0.7]), [36, 72, 109, 255]);
        assert_eq!(halves(&[3.0, 5.0, 7.0, 11.0, 13.0]), [58, 98, 137, 215, 254]);
        assert_eq!(halves(&[-3.0, 5.0, 7.0, 11.0, 13.0]), [98, 176, 196, 235, 255]);
        assert_eq!(halves(&[0.001, 0.0, 0.002]), [0, 0, 0]);
        let batch = Tensor::zeros(DataType::Float, Shape::new(&[5, 1, 1, 3]).unwrap()).unwrap();
        let bad = Tensor::vector(&[255u8, 0, 0, 255]).unwrap();
        let tags = |most| {
            images("t", &batch, most, &bad).unwrap().value.into_iter().map(|v| v.tag).collect::<Vec<_>>()
        };
        assert_eq!(tags(1), ["t/image"]);
        assert_eq!(tags(3), ["t/image/0", "t/image/1", "t/image/2"]);
        assert!(images("t", &batch.clone().reshape(Shape::new(&[5, 3]).unwrap()).unwrap(), 1, &bad).is_err());
        assert!(images("t", &batch, 1, &Tensor::vector(&[1u8, 2]).unwrap()).is_err());
    }
}
