//! Decompositions of dense matrices, row-major on slices: `f32`, `f64` and their complex numbers.
//!
//! Large factorisations are blocked: most of their work is in the product that updates the trailing matrix (`gemm`). All iterations
//! are bounded, so that NaN ends them too; what did not converge is `false` or `None`.
//!
//! ```
//! use thalweg_math::{decompose::Decompose, parallel::Serial};
//!
//! let mut a = [4.0, 0.0, 2.0, 5.0];
//! assert!(f64::cholesky(&Serial, &mut a, 2)?);
//! assert_eq!(a, [2.0, 0.0, 1.0, 2.0]);
//! # Ok::<(), thalweg_math::gemm::ShapeError>(())
//! ```

mod bidiagonal;
mod cholesky;
mod compiled;
mod eigen;
mod functions;
mod householder;
mod least_squares;
mod lu;
mod qr;
mod rank_two;
mod rotations;
mod scalar;
mod schur;
mod svd;
mod symmetric;
mod triangular;
mod tridiagonal;
mod vectors;

pub use compiled::Decompose;
pub use lu::Lu;
pub use scalar::{ComplexScalar, RealScalar, Scalar};
pub use svd::{Svd, Vectors};
pub use triangular::{Triangle, banded_solve};
pub use tridiagonal::{Tridiagonal, tridiagonal_product};

use cholesky::cholesky;
use qr::Qr;
use svd::svd;
use triangular::triangular_solve;
use vectors::{axpy, dot};

use crate::gemm::{Epilogue, MatMut, MatRef, ShapeError, gemm};
use crate::parallel::Parallel;

/// What a decomposition returns. It is an error if a slice has not the size that was stated.
pub type Outcome<T> = Result<T, ShapeError>;

/// Columns factored before the trailing matrix is updated.
const BLOCK: usize = 48;

/// `c += a * b`, or `c = a * b`. The views have been cut to size.
fn multiply<T: Scalar>(
    par: &dyn Parallel,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    c: MatMut<'_, T>,
    accumulate: bool,
) -> Outcome<()> {
    gemm(par, a, b, c, Epilogue { accumulate, ..Epilogue::default() })
}

/// The product of two row-major matrices.
fn product<T: Scalar>(
    par: &dyn Parallel,
    a: &[T],
    b: &[T],
    [m, k, n]: [usize; 3],
    out: &mut [T],
) -> Outcome<()> {
    multiply(par, rows(a, m, k, k)?, rows(b, k, n, n)?, MatMut::row_major(out, m, n)?, false)
}

/// A view of rows with a stride.
fn rows<T>(data: &[T], rows: usize, cols: usize, stride: usize) -> Outcome<MatRef<'_, T>> {
    MatRef::new(data, rows, cols, stride, 1)
}

/// The identity.
fn identity<T: Scalar>(n: usize) -> Vec<T> {
    let mut eye = crate::scratch::filled(n * n, T::ZERO);
    eye.iter_mut().step_by(n + 1).for_each(|x| *x = T::ONE);
    eye
}

/// The transpose of a row-major matrix.
fn transposed<T: Scalar>(par: &dyn Parallel, a: &[T], m: usize, n: usize) -> Vec<T> {
    let mut out = crate::scratch::filled(a.len(), T::ZERO);
    crate::transpose::transpose(par, &[m, n], &[1, 0], a, &mut out);
    out
}

/// The conjugate transpose.
fn adjoint<T: Scalar>(par: &dyn Parallel, a: &[T], m: usize, n: usize) -> Vec<T> {
    let mut out = transposed(par, a, m, n);
    conjugate(&mut out);
    out
}

fn conjugate<T: Scalar>(a: &mut [T]) {
    if T::IS_COMPLEX {
        a.iter_mut().for_each(|x| *x = x.conj());
    }
}

/// The largest absolute value; NaN counts as infinite.
fn largest<T: Scalar>(a: &[T]) -> T::Real {
    a.iter().fold(T::Real::ZERO, |most, x| match x.abs() {
        x if x > most => x,
        x if x <= most => most,
        _ => T::Real::INFINITY,
    })
}

#[cfg(test)]
mod tests;
