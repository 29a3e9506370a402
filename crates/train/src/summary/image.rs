//! Images: one tag has all images of a batch, with a slider over the steps.

use super::file_writer::invalid;
use super::{FileWriter, plugin};
use thalweg_client::{DataType, IntoTensor, Result, Shape, Tensor};
use thalweg_io::png_file::{self, PngOptions};
use thalweg_proto::tensorboard::ImagePluginData;
use thalweg_proto::{Bytes, DataClass, summary};

impl FileWriter {
    /// Adds the images of a batch, [count, height, width, channels], with 1 (grey), 2 (grey and alpha), 3 (RGB) or 4 channels: floats from 0
    /// to 1, clipped, or bytes.
    pub fn add_images(&mut self, tag: &str, images: impl IntoTensor, step: i64) -> Result<()> {
        let value = value(tag, &images.into_tensor()?)?;
        self.add_values(vec![value], step)
    }

    /// Adds PNG, JPEG or GIF files as they are, all of this width and height.
    pub fn add_encoded_images(
        &mut self,
        tag: &str,
        size: [usize; 2],
        files: Vec<Vec<u8>>,
        step: i64,
    ) -> Result<()> {
        let value = encoded(tag, size, files.into_iter().map(Bytes::from).collect())?;
        self.add_values(vec![value], step)
    }
}

fn value(tag: &str, batch: &Tensor) -> Result<summary::Value> {
    let [count, height, width, channels] = batch.shape().dims()[..] else {
        return Err(invalid(format!(
            "images are [count, height, width, channels], got shape {}",
            batch.shape()
        )));
    };
    let options = PngOptions { width, height, channels, wide: false, compression: -1 };
    options.check()?;
    let mut files = Vec::new();
    for i in 0..count {
        files.push(Bytes::from(png_file::encode(&pixels(&batch.rows(i, 1)?)?, options)?));
    }
    encoded(tag, [width, height], files)
}

/// The tensor that the plugin reads: width and height as text, then the files.
fn encoded(tag: &str, size: [usize; 2], files: Vec<Bytes>) -> Result<summary::Value> {
    let size = size.map(|n| Bytes::from(n.to_string()));
    let items: Vec<Bytes> = size.into_iter().chain(files).collect();
    let tensor = Tensor::from_objects(Shape::vector(items.len()), items)?;
    let metadata = plugin::metadata("images", &ImagePluginData::default(), DataClass::BlobSequence);
    plugin::value(tag, &tensor, metadata)
}

fn pixels(image: &Tensor) -> Result<Vec<u8>> {
    match image.dtype() {
        DataType::Uint8 => Ok(image.as_slice::<u8>()?.to_vec()),
        DataType::Float => Ok(image.as_slice::<f32>()?.iter().map(|v| byte(*v)).collect()),
        DataType::Double => Ok(image.as_slice::<f64>()?.iter().map(|v| byte(*v as f32)).collect()),
        other => Err(invalid(format!("images are uint8, float or double, got {other}"))),
    }
}

/// As `tf.image.convert_image_dtype` with saturation does; NaN is black.
fn byte(v: f32) -> u8 {
    (v * 255.5) as u8
}
