//! Files: what is read from them becomes tensors, and the other way round.
//!
//! Whatever a file says, the answer is a value or an error: `DataLoss` where bytes are missing or damaged,
//! `InvalidArgument` where they are whole but cannot be a tensor. No number in a file is believed before the bytes
//! it promises are there.

pub mod idx;
pub mod npy;
