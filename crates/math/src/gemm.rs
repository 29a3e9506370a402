//! Matrix products.
//!
//! ```
//! use thalweg_math::gemm::{Epilogue, MatMut, MatRef, gemm};
//! use thalweg_math::parallel::Serial;
//!
//! let (a, b) = ([1.0f32, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
//! let a = MatRef::row_major(&a, 2, 2)?;
//! let b = MatRef::row_major(&b, 2, 2)?.t();
//! let mut c = [0.0; 4];
//! gemm(&Serial, a, b, MatMut::row_major(&mut c, 2, 2)?, Epilogue::default())?;
//! assert_eq!(c, [17.0, 23.0, 39.0, 53.0]);
//! # Ok::<(), thalweg_math::gemm::ShapeError>(())
//! ```
//!
//! `f32` and `f64` have micro-kernels for each instruction set (`micro_kernel`), called by the cache-blocked loops of
//! `blocked`; `gemv` is for matrix-vector products, `implicit` for convolutions as implicit GEMM. `f16` and `bf16` are
//! computed in `f32` and rounded once (`half_precision`). Integers, which wrap, and complex numbers take a simple loop
//! (`fallback`). On one machine, a result does not depend on the number of threads.

mod batch;
mod blocked;
mod element;
mod fallback;
mod float;
mod gemv;
mod half_precision;
mod implicit;
mod lanes;
mod matrix;
mod micro_kernel;
mod pack;
mod scratch;

pub use batch::batch_gemm;
pub use blocked::is_single_k_block;
pub use element::GemmElement;
pub use implicit::{Im2colRef, Lhs, NestedAxis};
pub use matrix::{MatMut, MatRef, ShapeError};

use crate::parallel::Parallel;

/// What is applied to the product before it is stored to C, in the order of the fields. The default applies nothing.
#[derive(Clone, Copy, Debug)]
pub struct Epilogue<'a, T> {
    /// Adds to C instead of overwriting it.
    pub accumulate: bool,
    /// A vector added to every row.
    pub bias: Option<&'a [T]>,
    /// ReLU: `max(x, 0)`. NaN stays NaN.
    pub relu: bool,
}

impl<T> Default for Epilogue<'_, T> {
    fn default() -> Self {
        Epilogue { accumulate: false, bias: None, relu: false }
    }
}

/// `c = epilogue(a * b)`. A is a [`MatRef`] or an [`Im2colRef`].
///
/// Sizes may be 0; with `k = 0` the product is zero. It is an error if the sizes do not match, or for `relu` of complex
/// numbers, which have no order.
pub fn gemm<'a, T: GemmElement>(
    par: &dyn Parallel,
    a: impl Into<Lhs<'a, T>>,
    b: MatRef<'_, T>,
    c: MatMut<'_, T>,
    epilogue: Epilogue<'_, T>,
) -> Result<(), ShapeError> {
    let a = a.into();
    check([a.rows(), a.cols()], &b, [c.rows(), c.cols()], &epilogue)?;
    if c.rows() > 0 && c.cols() > 0 {
        T::product(par, a, b, c, epilogue);
    }
    Ok(())
}

fn check<T: GemmElement>(
    [a_rows, a_cols]: [usize; 2],
    b: &MatRef<'_, T>,
    [rows, cols]: [usize; 2],
    epilogue: &Epilogue<'_, T>,
) -> Result<(), ShapeError> {
    if a_cols != b.rows() || a_rows != rows || b.cols() != cols {
        return Err(ShapeError(format!(
            "{a_rows}x{a_cols} times {}x{} is not {rows}x{cols}",
            b.rows(),
            b.cols()
        )));
    }
    if let Some(bias) = epilogue.bias
        && bias.len() != cols
    {
        return Err(ShapeError(format!("a bias of {} elements for {cols} columns", bias.len())));
    }
    if epilogue.relu && !T::ORDERED {
        return Err(ShapeError("relu of numbers without an order".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
