//! See ARCHITECTURE.md.

/// Connectionist temporal classification.
pub mod ctc;
/// Decompositions of matrices: Cholesky, LU, QR, eigenvalues, singular values.
pub mod decompose;
/// Elementwise exp, log, tanh etc. of f32.
pub mod elementary;
/// Fourier transforms.
pub mod fft;
/// Matrix products.
pub mod gemm;
mod half_bits;
pub mod hash;
pub mod isa;
/// Batch normalisation over the columns of a matrix.
pub mod normalise;
/// Parallel for loops: the `Parallel` trait.
pub mod parallel;
/// The thread pool.
pub mod pool;
pub mod prefetch;
/// Counter-based random numbers (Philox), bit for bit TensorFlow's.
pub mod random;
/// The elementwise parts of LSTM and GRU cells.
pub mod recurrent;
/// Reductions over axes, argmax, and scans (cumulative sums).
pub mod reduce;
/// Scratch buffers of loops, and how allocation failures are reported.
pub mod rounding;
pub mod scratch;
mod shared;
pub mod simd;
/// Softmax of the rows of a matrix.
pub mod softmax;
/// Special functions of real numbers.
pub mod special;
/// Transposition: any permutation of axes.
pub mod transpose;
/// Sliding windows over images: im2col, pooling, depthwise convolution.
pub mod window;
