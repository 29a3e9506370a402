//! Decompositions of dense matrices, row-major on slices: `f32`, `f64` and their complex numbers.
//!
//! Large factorisations are blocked: most of their work is in the product that updates the trailing matrix (`gemm`). All iterations
//! are bounded, so that NaN ends them too; what did not converge is `false` or `None`.
//!
//! ```
//! use thalweg_math::{decompose::cholesky, parallel::Serial};
//!
//! let mut a = [4.0, 0.0, 2.0, 5.0];
//! assert!(cholesky(&Serial, &mut a, 2));
//! assert_eq!(a, [2.0, 0.0, 1.0, 2.0]);
//! ```

mod cholesky;
mod eigen;
mod functions;
mod householder;
mod least_squares;
mod lu;
mod qr;
mod scalar;
mod schur;
mod svd;
mod symmetric;
mod triangular;
mod tridiagonal;

pub use cholesky::{cholesky, cholesky_gradient};
pub use eigen::eigen;
pub use functions::{exponential, logarithm, square_root};
pub use least_squares::{least_squares, min_norm_least_squares};
pub use lu::Lu;
pub use qr::Qr;
pub use scalar::{ComplexScalar, RealScalar, Scalar};
pub use svd::{Svd, svd};
pub use symmetric::symmetric_eigen;
pub use triangular::{Triangle, banded_solve, triangular_solve};
pub use tridiagonal::{Tridiagonal, tridiagonal_product};

use crate::gemm::{Epilogue, MatMut, MatRef, gemm};
use crate::parallel::Parallel;

/// Columns factored before the trailing matrix is updated.
const BLOCK: usize = 48;

/// `c += a * b`, or `c = a * b`. The views have been cut to size.
fn multiply<T: Scalar>(
    par: &dyn Parallel,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    c: MatMut<'_, T>,
    accumulate: bool,
) {
    gemm(par, a, b, c, Epilogue { accumulate, ..Epilogue::default() }).expect("views of matching sizes");
}

/// The product of two row-major matrices.
fn product<T: Scalar>(par: &dyn Parallel, a: &[T], b: &[T], [m, k, n]: [usize; 3], out: &mut [T]) {
    multiply(par, rows(a, m, k, k), rows(b, k, n, n), MatMut::row_major(out, m, n).expect("a matrix"), false)
}

/// A view of rows with a stride.
fn rows<T>(data: &[T], rows: usize, cols: usize, stride: usize) -> MatRef<'_, T> {
    MatRef::new(data, rows, cols, stride, 1).expect("rows inside of the slice")
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

/// `y += factor * x`.
#[inline]
fn axpy<T: Scalar>(factor: T, x: &[T], y: &mut [T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = *y + factor * *x;
    }
}

/// `x^H y`, in eight partial sums, so that it vectorises.
#[inline]
fn dot<T: Scalar>(x: &[T], y: &[T]) -> T {
    let mut sums = [T::ZERO; 8];
    let (x8, y8) = (x.as_chunks::<8>(), y.as_chunks::<8>());
    for (x, y) in x8.0.iter().zip(y8.0) {
        for (s, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *s = *s + x.conj() * *y;
        }
    }
    for (s, (x, y)) in sums.iter_mut().zip(x8.1.iter().zip(y8.1)) {
        *s = *s + x.conj() * *y;
    }
    sums.into_iter().fold(T::ZERO, |a, b| a + b)
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
