//! File formats, from bytes to tensors and back.
//!
//! - [`access`]: access control of the paths in graphs.
//! - [`npy`], [`npz`], [`idx`]: arrays of numpy, and of MNIST; [`safetensors`]: weights of models.
//! - [`jpeg`], [`gif`], [`bmp`], [`wav`]: images and sound; [`png_file`] writes images.
//! - [`record`]: TFRecord files, plain or compressed.
//! - [`snappy`]: compressed blocks; [`gzip`]: compressed files.
//! - [`table`]: sorted string tables in LevelDB's format, as the index of a checkpoint is.
//! - [`bundle`]: tensor bundles, the files of one checkpoint (`model-100.index`, `model-100.data-00000-of-00001`).
//! - [`checkpoint`]: the checkpoints of a directory, its state file, lock file, and recovery.
//! - [`graph_file`]: GraphDefs, MetaGraphDefs and SavedModels; [`saved_model`]: a SavedModel's directory.
//! - [`event`]: event files, for TensorBoard.
//! - [`wav`]: sounds, as files of 16-bit samples.
//! - [`glob`]: paths by glob pattern.
//! - [`durable`]: crash-consistent writes (temporary file, fsync, atomic rename).
//! - [`bounded_read`]: whole files, within a limit; [`path_hint`]: hints for errors of paths.
//! - [`message`]: messages decoded within the memory limit; [`wire`]: tensors and shapes as messages.
//!
//! Malformed input is an error: `DataLoss` where bytes are missing or corrupt, `InvalidArgument` where they are intact
//! but not a valid tensor. No length in a file is trusted before its bytes have been read.

// Input must not be able to panic: tests may.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod access;
pub mod bmp;
pub mod bounded_read;
pub mod bundle;
pub mod checkpoint;
pub mod crc;
pub mod durable;
pub mod event;
pub mod gif;
pub mod glob;
pub mod graph_file;
pub mod gzip;
pub mod idx;
pub mod jpeg;
pub mod message;
pub mod npy;
pub mod npz;
pub mod path_hint;
pub mod png_file;
pub mod record;
pub mod safetensors;
pub mod saved_model;
pub mod snappy;
pub mod table;
pub mod varint;
pub mod wav;
pub mod wire;

/// For tests of this crate and of those above it.
#[doc(hidden)]
pub mod scratch;
