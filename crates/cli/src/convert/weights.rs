//! Named tensors from one form to another.

use std::path::Path;
use thalweg_core::dtype::DataType;
use thalweg_core::error::{Result, not_found};
use thalweg_core::invalid;
use thalweg_core::tensor::Tensor;
use thalweg_io::bundle::{BundleReader, BundleWriter, SliceReader, SliceWriter, index_path};
use thalweg_io::{bounded_read, durable, npz, safetensors, saved_model};

type Weights = Vec<(String, Tensor)>;

pub fn run(input: &Path, out: &Path, v1: bool) -> Result<()> {
    let weights = read(input)?;
    if weights.is_empty() {
        return Err(not_found("no tensors to convert").context(input.display()));
    }
    let form = extension(out);
    if v1 && matches!(form, "npz" | "safetensors") {
        return Err(invalid!(
            "--v1 writes a checkpoint, but {} is the name of a .{form} file",
            out.display()
        ));
    }
    match form {
        "npz" => npz::write_file(out, &plain(weights)),
        "safetensors" => safetensors::write_file(out, &plain(weights)),
        _ if v1 => {
            let mut writer = SliceWriter::default();
            plain(weights).iter().try_for_each(|(name, tensor)| writer.add(name, tensor))?;
            durable::write(out, &writer.finish()?)
        }
        _ => {
            let mut writer = BundleWriter::create(out)?;
            weights.iter().try_for_each(|(name, tensor)| writer.add(name, tensor))?;
            writer.finish()
        }
    }
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|e| e.to_str()).unwrap_or_default()
}

/// Without strings, such as the object graph of a checkpoint.
fn plain(mut weights: Weights) -> Weights {
    weights.retain(|(_, tensor)| tensor.dtype() != DataType::String && tensor.dtype().is_plain());
    weights
}

fn read(path: &Path) -> Result<Weights> {
    if path.is_dir() && saved_model::has_variables(path) {
        return bundle(&saved_model::variables(path));
    }
    if index_path(path).is_file() {
        return bundle(path);
    }
    match extension(path) {
        "npz" => npz::read_file(path),
        "safetensors" => safetensors::read_file(path),
        "index" => bundle(&path.with_extension("")),
        _ => {
            let reader = SliceReader::new(vec![bounded_read::read(path)?.into()])
                .map_err(|e| durable::with_path(path, e))?;
            let names = reader.names().map_err(|e| durable::with_path(path, e))?;
            names.into_iter().map(|name| Ok((name.clone(), reader.read(&name)?))).collect()
        }
    }
}

fn bundle(prefix: &Path) -> Result<Weights> {
    let mut reader = BundleReader::open(prefix)?;
    let names: Vec<String> = reader.names().collect();
    names.into_iter().map(|name| Ok((name.clone(), reader.read(&name)?))).collect()
}
