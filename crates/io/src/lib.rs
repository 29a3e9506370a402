//! Files: what is read from them becomes tensors, and the other way round.
//!
//! - [`access`]: paths that graphs may use.
//! - [`npy`], [`idx`]: numpy's arrays, and MNIST's.
//! - [`record`]: TFRecord files, plain or compressed.
//! - [`table`]: sorted tables of keys and values, the index of a checkpoint.
//! - [`bundle`]: the tensors of one checkpoint (`model-100.index`, `model-100.data-00000-of-00001`).
//! - [`checkpoint`]: which checkpoints a directory has, and which is the newest whole one.
//! - [`event`]: the logs that TensorBoard shows.
//! - [`glob`]: files by pattern.
//! - [`whole`]: a file read whole; [`missing`]: what is said of one that is not there.
//! - [`message`]: messages decoded within the memory that there is; [`wire`]: tensors and shapes as messages.
//!
//! Whatever a file says, the answer is a value or an error: `DataLoss` where bytes are missing or damaged,
//! `InvalidArgument` where they are whole but cannot be a tensor. No number in a file is believed before the bytes
//! it promises are there.

pub mod access;
pub mod bundle;
pub mod checkpoint;
pub mod crc;
pub mod durable;
pub mod event;
pub mod glob;
pub mod idx;
pub mod message;
pub mod missing;
pub mod npy;
pub mod record;
pub mod table;
pub mod varint;
pub mod whole;
pub mod wire;

/// For tests of this crate and of those above it.
#[doc(hidden)]
pub mod scratch;
