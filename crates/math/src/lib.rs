//! See ARCHITECTURE.md.

/// Splitting loops over threads: the `Parallel` trait.
pub mod parallel;
/// Worker threads.
pub mod pool;
/// Matrix products.
pub mod gemm;
