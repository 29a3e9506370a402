//! Tensor bundles: the tensors of one checkpoint, in TensorFlow's second format.
//!
//! A bundle has a prefix, `dir/model-100`. Its tensors lie back to back in `model-100.data-00000-of-00001`, or in several such
//! shards; `model-100.index` is a [table](crate::table) that says for each name the type, shape, place and checksum. A tensor may be stored
//! in slices, each under a key of its own. Bundles are written whole or not at all: the index comes last.
//!
//! ```
//! use thalweg_core::tensor::Tensor;
//! use thalweg_io::bundle::{BundleReader, BundleWriter};
//!
//! # let dir = std::env::temp_dir().join(format!("thalweg-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&dir)?;
//! let mut writer = BundleWriter::create(&dir.join("model"))?;
//! writer.add("w", &Tensor::vector(&[1f32, 2.0])?)?;
//! writer.finish()?;
//! assert_eq!(BundleReader::open(&dir.join("model"))?.read("w")?.as_slice::<f32>()?, [1.0, 2.0]);
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok::<(), thalweg_core::error::Error>(())
//! ```

mod key;
mod merge;
mod reader;
mod region;
mod slice;
mod strings;
#[cfg(test)]
mod tests;
mod writer;

pub use merge::{Merge, merge};
pub use reader::{BundleReader, Entry};
pub use slice::{Extent, ShapeAndSlice, TensorSlice};
pub use writer::BundleWriter;

use crate::durable::with_suffix;
use std::path::{Path, PathBuf};

/// The version of the format, as TensorFlow counts it.
const VERSION: i32 = 1;

/// `model.index`.
pub fn index_path(prefix: &Path) -> PathBuf {
    with_suffix(prefix, ".index")
}

/// `model.data-00000-of-00001`.
pub fn data_path(prefix: &Path, shard: usize, shards: usize) -> PathBuf {
    with_suffix(prefix, &format!(".data-{shard:05}-of-{shards:05}"))
}
