//! Tensor bundles: the tensors of one checkpoint, in TensorFlow's second format.
//!
//! A bundle has a prefix, `dir/model-100`. Its tensors are contiguous in `model-100.data-00000-of-00001`, or in several such
//! shards; `model-100.index` is a [table](crate::table) with a header entry, and for each name dtype, shape, shard, offset, size and CRC. A
//! tensor may be stored in slices, each under its own key. Writes are atomic: the index is renamed into place last.
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

mod first_format;
mod key;
mod merge;
mod reader;
mod region;
mod slice;
mod strings;
#[cfg(test)]
mod tests;
mod variants;
mod writer;

pub use first_format::{SliceReader, SliceWriter};
pub use merge::{Merge, merge};
pub use reader::{BundleReader, Entry};
pub use slice::{Extent, ShapeAndSlice, TensorSlice};
pub use writer::BundleWriter;

use crate::durable::with_suffix;
use std::path::{Path, PathBuf};

/// TensorFlow's version of the format.
const VERSION: i32 = 1;

/// `model.index`.
pub fn index_path(prefix: &Path) -> PathBuf {
    with_suffix(prefix, ".index")
}

/// `model.data-00000-of-00001`.
pub fn data_path(prefix: &Path, shard: usize, shards: usize) -> PathBuf {
    with_suffix(prefix, &format!(".data-{shard:05}-of-{shards:05}"))
}
