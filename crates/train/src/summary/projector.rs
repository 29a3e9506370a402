//! The embedding projector: `projector_config.pbtxt` in the directory of a run names tensors, and files with what is known of each row.

use super::file_writer::invalid;
use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;
use thalweg_client::{DataType, Result, Tensor};
use thalweg_io::durable;
use thalweg_io::png_file::{self, PngOptions};
use thalweg_proto::tensorboard::projector::{EmbeddingInfo, ProjectorConfig, SpriteMetadata};
use thalweg_proto::text;

/// The file that TensorBoard looks for.
pub const PROJECTOR_CONFIG: &str = "projector_config.pbtxt";

/// An embedding: a matrix with a row for each point.
#[derive(Clone, Debug)]
pub struct Embedding {
    name: String,
    values: Option<Tensor>,
    columns: Vec<(String, Vec<String>)>,
    sprites: Option<Tensor>,
}

impl Embedding {
    /// A variable, by its name in the run's newest checkpoint.
    pub fn variable(name: &str) -> Embedding {
        Embedding { name: name.to_string(), values: None, columns: Vec::new(), sprites: None }
    }

    /// A matrix of floats, which is written to a file.
    pub fn values(name: &str, values: Tensor) -> Embedding {
        Embedding { values: Some(values), ..Embedding::variable(name) }
    }

    /// A column of metadata: a text for each row, by which points are labelled, coloured and found.
    pub fn column<S: Into<String>>(mut self, name: &str, texts: impl IntoIterator<Item = S>) -> Embedding {
        self.columns.push((name.to_string(), texts.into_iter().map(S::into).collect()));
        self
    }

    /// A small image for each row, [rows, height, width, channels], of bytes.
    pub fn sprites(self, images: Tensor) -> Embedding {
        Embedding { sprites: Some(images), ..self }
    }

    /// Writes the files of this embedding, whose names begin with `stem`.
    fn write(&self, directory: &Path, stem: &str) -> Result<EmbeddingInfo> {
        let mut info = EmbeddingInfo { tensor_name: self.name.clone(), ..Default::default() };
        let file = |suffix: &str| format!("{stem}{suffix}");
        if let Some(values) = &self.values {
            info.tensor_path = file(".tsv");
            info.tensor_shape =
                values.shape().dims().iter().map(|n| u32::try_from(*n).unwrap_or(u32::MAX)).collect();
            durable::write(&directory.join(&info.tensor_path), tensor_rows(&self.name, values)?.as_bytes())?;
        }
        if !self.columns.is_empty() {
            info.metadata_path = file("_metadata.tsv");
            durable::write(&directory.join(&info.metadata_path), self.metadata()?.as_bytes())?;
        }
        if let Some(images) = &self.sprites {
            let image_path = file("_sprites.png");
            let (sheet, single_image_dim) = sprite_sheet(images)?;
            durable::write(&directory.join(&image_path), &sheet)?;
            info.sprite = Some(SpriteMetadata { image_path, single_image_dim });
        }
        Ok(info)
    }

    /// The columns as text. A single column has no heading.
    fn metadata(&self) -> Result<String> {
        let rows = self.columns.iter().map(|(_, texts)| texts.len());
        let (least, most) = (rows.clone().min().unwrap_or(0), rows.max().unwrap_or(0));
        let wanted = self.values.as_ref().and_then(|v| v.shape().dims().first().copied()).unwrap_or(most);
        if least != wanted || most != wanted {
            return Err(invalid(format!(
                "each metadata column of the embedding '{}' has a text for each of {wanted} rows; the shortest has {least}, the longest {most}",
                self.name
            )));
        }
        let mut out = String::new();
        if self.columns.len() > 1 {
            line(&mut out, self.columns.iter().map(|(name, _)| name.as_str()));
        }
        for row in 0..wanted {
            line(&mut out, self.columns.iter().filter_map(|(_, texts)| texts.get(row)).map(String::as_str));
        }
        Ok(out)
    }
}

/// Adds cells with tabs between. Tabs and line ends in them would begin others.
fn line<'a>(out: &mut String, cells: impl Iterator<Item = &'a str>) {
    for (i, cell) in cells.enumerate() {
        if i > 0 {
            out.push('\t');
        }
        out.extend(cell.chars().map(|c| if matches!(c, '\t' | '\n' | '\r') { ' ' } else { c }));
    }
    out.push('\n');
}

fn tensor_rows(name: &str, values: &Tensor) -> Result<String> {
    let ([_, width], DataType::Float) = (values.shape().dims(), values.dtype()) else {
        return Err(invalid(format!(
            "the embedding '{name}' is a matrix of floats, got {} {}",
            values.dtype(),
            values.shape()
        )));
    };
    let mut out = String::new();
    for row in values.as_slice::<f32>()?.chunks(*width.max(&1)) {
        for (i, v) in row.iter().enumerate() {
            let _ = write!(out, "{}{v}", if i > 0 { "\t" } else { "" });
        }
        out.push('\n');
    }
    Ok(out)
}

/// All images in one, row by row in a square, and the size of each.
fn sprite_sheet(images: &Tensor) -> Result<(Vec<u8>, Vec<u32>)> {
    let ([count, height, width, channels], DataType::Uint8) = (images.shape().dims(), images.dtype()) else {
        return Err(invalid(format!(
            "sprites are uint8 of shape [rows, height, width, channels], got {} {}",
            images.dtype(),
            images.shape()
        )));
    };
    let side = (1..=*count).find(|n| n * n >= *count).unwrap_or(1);
    let (row, sheet_row) = (width * channels, side * width * channels);
    let mut pixels = vec![0u8; sheet_row * side * height];
    for (i, line) in images.as_slice::<u8>()?.chunks(row.max(1)).enumerate() {
        let (image, y) = (i / height.max(&1), i % height.max(&1));
        let at = (image / side * height + y) * sheet_row + image % side * row;
        if let Some(place) = pixels.get_mut(at..at + line.len()) {
            place.copy_from_slice(line);
        }
    }
    let (sheet_width, sheet_height) = (side * width, side * height);
    let options = PngOptions {
        width: sheet_width,
        height: sheet_height,
        channels: *channels,
        wide: false,
        compression: -1,
    };
    let size = |n: &usize| u32::try_from(*n).unwrap_or(u32::MAX);
    Ok((png_file::encode(&pixels, options)?, vec![size(width), size(height)]))
}

/// Writes the configuration of the projector and the files that it names into the directory of a run. Variables are those of the newest
/// checkpoint there.
pub fn write_projector(directory: impl AsRef<Path>, embeddings: &[Embedding]) -> Result<()> {
    let directory = directory.as_ref();
    durable::create_directory(directory)?;
    let mut config = ProjectorConfig::default();
    let mut stems = HashSet::new();
    for (i, embedding) in embeddings.iter().enumerate() {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let mut stem: String = embedding.name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        if !stems.insert(stem.clone()) {
            stem = format!("{stem}_{i}");
        }
        config.embeddings.push(embedding.write(directory, &format!("projector_{stem}"))?);
    }
    durable::write(&directory.join(PROJECTOR_CONFIG), text::print(&config).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_client::{IntoTensor, Shape};

    #[test]
    fn metadata_has_a_heading_if_it_has_several_columns() {
        let one = Embedding::variable("e").column("word", ["a", "b\tc"]);
        assert_eq!(one.metadata().unwrap(), "a\nb c\n");
        assert_eq!(
            one.clone().column("count", ["1", "2"]).metadata().unwrap(),
            "word\tcount\na\t1\nb c\t2\n"
        );
        assert!(one.column("count", ["1"]).metadata().is_err());
        let values = [[1f32], [2.0], [3.0]].into_tensor().unwrap();
        assert!(Embedding::values("e", values).column("word", ["a"]).metadata().is_err());
    }

    #[test]
    fn sprites_fill_a_square() {
        let images = Tensor::zeros(DataType::Uint8, Shape::new(&[5, 2, 3, 1]).unwrap()).unwrap();
        let (sheet, size) = sprite_sheet(&images).unwrap();
        assert_eq!(size, [3, 2]);
        // Width and height are in the header of the file.
        assert_eq!((sheet[16..20].to_vec(), sheet[20..24].to_vec()), (vec![0, 0, 0, 9], vec![0, 0, 0, 6]));
    }
}
