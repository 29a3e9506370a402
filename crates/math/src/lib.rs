//! See ARCHITECTURE.md.

/// exp, log, tanh and the like on slices of f32.
pub mod elementary;
/// Matrix products.
pub mod gemm;
mod half_bits;
pub mod hash;
pub mod isa;
/// Batch normalisation by column.
pub mod normalise;
/// Splitting loops over threads: the `Parallel` trait.
pub mod parallel;
/// Worker threads.
pub mod pool;
pub mod prefetch;
/// Random numbers as TensorFlow draws them.
pub mod random;
/// Sums, maxima and the like over axes; argmax; running sums.
pub mod reduce;
/// Scratch memory of loops, and what they do when there is none.
pub mod scratch;
mod shared;
pub mod simd;
/// Softmax of the rows of a matrix.
pub mod softmax;
/// Special functions of real numbers.
pub mod special;
/// Copies with the axes in another order.
pub mod transpose;
/// Windows that slide over images: patches, poolings, convolutions of single channels.
pub mod window;
