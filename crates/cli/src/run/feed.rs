//! `--feed NAME=VALUE`: a literal or a file on the command line, as the tensor that the graph expects.

use super::{csv, image, literal};
use crate::failure::{Failure, Outcome};
use std::path::Path;
use std::str::FromStr;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Error, not_found};
use thalweg_core::shape::PartialShape;
use thalweg_core::tensor::Tensor;
use thalweg_io::{bounded_read, durable, npy, npz};

#[derive(Clone, Debug)]
pub struct Feed {
    pub name: String,
    value: String,
}

impl FromStr for Feed {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Feed, Self::Err> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok(Feed { name: name.into(), value: value.into() }),
            _ => Err("a feed is written NAME=VALUE or NAME=FILE"),
        }
    }
}

impl Feed {
    /// The value as a tensor of this type and, as far as a file leaves it open, this shape.
    pub fn tensor(&self, dtype: DataType, shape: &PartialShape) -> Outcome<Tensor> {
        let text = self.value.trim();
        if let Some(value) = self.file(text, dtype, shape) {
            return Ok(value?);
        }
        // Shells strip the quotes: a bare word for a string tensor is the string.
        if dtype == DataType::String && !text.starts_with(['"', '\'', '[']) {
            return Ok(Tensor::string(self.value.as_bytes()));
        }
        let wrong = |e: Error| e.context(format_args!("--feed {}", self.name));
        let value = literal::parse(text).map_err(|e| Failure::Usage(wrong(e)))?;
        Ok(value.to_tensor(dtype).map_err(wrong)?)
    }

    /// The content of a file whose name says what it is.
    fn file(
        &self,
        text: &str,
        dtype: DataType,
        shape: &PartialShape,
    ) -> Option<thalweg_core::error::Result<Tensor>> {
        if let Some((file, key)) = array_of_npz(text) {
            return Some(self.array(Path::new(file), key));
        }
        let path = Path::new(text);
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "npy" => Some(npy::read_file(path)),
            "csv" if !text.starts_with(['"', '\'', '[']) => Some(csv::read(path, dtype, shape)),
            "png" | "jpg" | "jpeg" | "gif" | "bmp" if !text.starts_with(['"', '\'', '[']) => {
                let bytes = bounded_read::read(path);
                Some(
                    bytes.and_then(|b| {
                        image::tensor(b, dtype, shape).map_err(|e| durable::with_path(path, e))
                    }),
                )
            }
            _ => None,
        }
    }

    /// An array of an `.npz` file: the one of that name, else of the feed's name, else the only one.
    fn array(&self, path: &Path, key: Option<&str>) -> thalweg_core::error::Result<Tensor> {
        let mut arrays = npz::read_file(path)?;
        let own = self.name.trim_end_matches(":0");
        let found = arrays.iter().position(|(name, _)| name == key.unwrap_or(own));
        match found.or((key.is_none() && arrays.len() == 1).then_some(0)) {
            Some(at) => Ok(arrays.swap_remove(at).1),
            None => {
                let names: Vec<&str> = arrays.iter().map(|a| a.0.as_str()).collect();
                let e = format!("no array '{}'; it has: {}", key.unwrap_or(own), names.join(", "));
                Err(not_found(e).context(path.display()).hint("name one as FILE.npz:ARRAY"))
            }
        }
    }
}

/// `weights.npz` or `weights.npz:kernel`.
fn array_of_npz(text: &str) -> Option<(&str, Option<&str>)> {
    if text.starts_with(['"', '\'', '[']) {
        return None;
    }
    if text.ends_with(".npz") {
        return Some((text, None));
    }
    let (at, _) = text.rmatch_indices(".npz:").next()?;
    let (file, key) = text.split_at(at + ".npz".len());
    Some((file, key.strip_prefix(':')))
}
