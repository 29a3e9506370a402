//! See ARCHITECTURE.md.

mod half_bits;
/// Splitting loops over threads: the `Parallel` trait.
pub mod parallel;
/// Worker threads.
pub mod pool;
pub mod random;
pub mod reduce;
mod shared;
mod simd;
pub mod special;
