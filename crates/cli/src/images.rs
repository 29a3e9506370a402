//! Images in folders, one for each class: which files there are, how they are decoded, and the net that tells them apart.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use thalweg::Callable;
use thalweg::prelude::*;
use thalweg::train::layers::{Activation, Conv2D, Dense, Padding, flatten, max_pooling2d};
use thalweg_core::error::internal;
use thalweg_core::invalid;
use thalweg_io::durable;

/// A model of images, as its description in a file has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImageModel {
    /// The names of the folders.
    pub classes: Vec<String>,
    /// Height and width that images are resized to.
    pub size: usize,
}

pub const CHANNELS: usize = 3;
/// Names of image files end in one of these.
const ENDINGS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "bmp"];
/// Filters of the convolutions; each is followed by a pool.
const FILTERS: [usize; 3] = [16, 32, 64];
/// A smaller image is not pooled any more.
const SMALLEST: usize = 8;
const HIDDEN: usize = 64;
/// A larger file is no image to learn from.
const LARGEST_FILE: u64 = 256 << 20;

impl ImageModel {
    /// Bytes of an image.
    pub fn bytes(&self) -> usize {
        self.size * self.size * CHANNELS
    }

    /// The input, bytes of `[batch, size, size, channels]`, and the logits.
    pub fn build(&self, g: &Scope) -> Result<(Output, Output)> {
        let side = i64::try_from(self.size).map_err(|_| invalid!("images of size {}", self.size))?;
        let input = g.placeholder_named("images", DataType::Uint8, Some(&[-1, side, side, CHANNELS as i64]));
        let scale = g.number(1.0 / 127.5, DataType::Float);
        let mut x = g.cast(&input, DataType::Float) * scale - g.number(1.0, DataType::Float);
        let mut left = self.size;
        for filters in FILTERS.iter().take_while(|_| {
            let again = left >= SMALLEST;
            left /= 2;
            again
        }) {
            let conv = Conv2D::new(*filters, [3, 3]).padding(Padding::Same).activation(Activation::Relu);
            x = max_pooling2d(g, &conv.apply(g, &x), [2, 2], [2, 2], Padding::Valid);
        }
        let x = Dense::new(HIDDEN).activation(Activation::Relu).apply(g, &flatten(g, &x));
        let logits = Dense::new(self.classes.len()).name("logits").apply(g, &x);
        g.check()?;
        Ok((input, logits))
    }
}

/// The image files of a folder, sorted.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_image = |path: &PathBuf| {
        let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        path.is_file() && ending.is_some_and(|e| ENDINGS.contains(&e.as_str()))
    };
    let mut found: Vec<PathBuf> = entries(folder)?.into_iter().filter(is_image).collect();
    found.sort();
    Ok(found)
}

/// The folders in a folder, sorted.
pub fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = entries(folder)?.into_iter().filter(|p| p.is_dir()).collect();
    found.sort();
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listed = std::fs::read_dir(folder).map_err(|e| durable::with_path(folder, e))?;
    listed.map(|entry| entry.map(|e| e.path()).map_err(|e| durable::with_path(folder, e))).collect()
}

/// Decodes and resizes image files.
pub struct Decoder {
    run: Callable,
    _session: Session,
}

impl Decoder {
    pub fn new(model: &ImageModel, threads: usize) -> Result<Decoder> {
        let g = Scope::new();
        let file = g.placeholder_named("file", DataType::String, Some(&[]));
        let image = g
            .op("DecodeImage")
            .input(&file)
            .attr("channels", CHANNELS as i64)
            .attr("expand_animations", false)
            .output();
        let batch = g.op("ExpandDims").input(&image).input(g.constant(0)).output();
        let side = i32::try_from(model.size).map_err(|_| invalid!("images of size {}", model.size))?;
        let resized = g
            .op("ResizeBilinear")
            .input(&batch)
            .input(g.constant([side, side]))
            .attr("half_pixel_centers", true)
            .output();
        let bytes = g.cast(g.op("Round").input(&resized).output(), DataType::Uint8);
        let session = Session::with_options(&g, SessionOptions { threads, ..Default::default() })?;
        let run = session.callable(&[&file], &vec![bytes])?;
        Ok(Decoder { run, _session: session })
    }

    /// The bytes of an image, of the model's size.
    pub fn read(&self, path: &Path) -> Result<Tensor> {
        let named = |e: Error| invalid!("{}: not an image that can be read: {}", path.display(), e.message());
        let size = std::fs::metadata(path).map_err(|e| durable::with_path(path, e))?.len();
        if size > LARGEST_FILE {
            return Err(invalid!("{}: {size} bytes are too many for an image", path.display()));
        }
        let bytes = std::fs::read(path).map_err(|e| durable::with_path(path, e))?;
        let found = self.run.run(vec![Tensor::string(bytes)]).map_err(named)?;
        found.into_iter().next().ok_or_else(|| internal("no image"))
    }
}
