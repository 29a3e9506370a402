//! See ARCHITECTURE.md.

/// Matrix products.
pub mod gemm;
/// Splitting loops over threads: the `Parallel` trait.
pub mod parallel;
/// Worker threads.
pub mod pool;
