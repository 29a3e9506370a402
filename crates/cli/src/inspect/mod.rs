//! `thalweg inspect`: shows what a file or a directory contains. The format is recognised by content.

mod checkpoint;
mod directory;
mod events;
mod graph;
mod records;
mod saved_model;
mod weights;

use crate::failure::Outcome;
use crate::looks;
use crate::output::{self, Align, table};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use thalweg_core::error::{Result, not_found};
use thalweg_io::record::Compression;
use thalweg_io::{bundle, durable, npy, npz, safetensors, table as tables};

/// Show what is in a model, graph, checkpoint, event file, TFRecord file or array
#[derive(clap::Args)]
pub struct Args {
    /// A file, a directory, or the prefix of a checkpoint (model-100)
    path: PathBuf,
}

pub fn run(args: Args) -> Outcome {
    output::print(&inspect(&args.path)?)
}

fn inspect(path: &Path) -> Result<String> {
    if let Some(prefix) = checkpoint_prefix(path) {
        return checkpoint::show(&prefix);
    }
    if path.is_dir() {
        return directory::show(path);
    }
    let (start, end) = ends(path)?;
    if tables::is_table(&end) {
        return checkpoint::show(path);
    }
    if start.starts_with(b"\x93NUMPY") {
        let t = npy::read_file(path)?;
        return Ok(format!("{} array of shape {}\n{t}\n", t.dtype(), t.shape()));
    }
    match Compression::of_bytes(&start) {
        Some(compression) if records::is_events(path, compression) => events::show(&[path.to_path_buf()]),
        // Two bytes tell zlib: a text may begin with them too.
        Some(Compression::Zlib) => records::show(path, Compression::Zlib).or_else(|_| unframed(path)),
        Some(compression) => records::show(path, compression),
        None => unframed(path),
    }
}

/// A file that is no records: weights, or a graph.
fn unframed(path: &Path) -> Result<String> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("npz") => Ok(weights::show(&npz::read_file(path)?)),
        Some("safetensors") => Ok(weights::show(&safetensors::read_file(path)?)),
        _ => graph::show(path),
    }
}

/// The checkpoint that a path is the prefix or a file of.
fn checkpoint_prefix(path: &Path) -> Option<PathBuf> {
    let text = path.to_str()?;
    let prefix = text.strip_suffix(".index").or_else(|| Some(text.rsplit_once(".data-")?.0)).unwrap_or(text);
    let prefix = PathBuf::from(prefix);
    bundle::index_path(&prefix).is_file().then_some(prefix)
}

/// The first and the last few bytes of a file.
fn ends(path: &Path) -> Result<(Vec<u8>, Vec<u8>)> {
    if !path.exists() {
        return Err(durable::with_path(path, not_found("no such file, directory or checkpoint")));
    }
    let read = || {
        let mut file = File::open(path)?;
        let (mut start, mut end) = (Vec::new(), Vec::new());
        file.by_ref().take(looks::START).read_to_end(&mut start)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(16)))?;
        file.take(16).read_to_end(&mut end)?;
        Ok((start, end))
    };
    read().map_err(|e: std::io::Error| durable::with_path(path, e))
}

/// Wider cells do not widen their column.
const WIDEST: usize = 64;

/// A table under its headings; `align` has an L or an R for each column.
fn titled(headings: &[&str], align: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let head = headings.iter().map(|h| h.to_string()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let align: Vec<Align> =
        align.chars().map(|c| if c == 'R' { Align::Right } else { Align::Left }).collect();
    table(&rows, &align, WIDEST)
}

/// `1 tensor`, `3 tensors`.
fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
