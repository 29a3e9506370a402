//! See ARCHITECTURE.md.

/// Splitting loops over threads: the `Parallel` trait.
pub mod parallel;
/// Worker threads.
pub mod pool;
pub mod random;
mod shared;
mod simd;
