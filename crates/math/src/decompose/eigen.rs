//! Eigenvalues and eigenvectors of general matrices, from the Schur form.

use super::schur::schur;
use super::{ComplexScalar, Outcome, RealScalar, Scalar, largest, product};
use crate::parallel::Parallel;
use crate::scratch;

/// The eigenvalues, and if `vectors` is there the eigenvectors, of length 1, as its columns. False if they do not converge.
pub fn eigen<T: Scalar>(
    par: &dyn Parallel,
    a: &[T],
    n: usize,
    values: &mut [T::Complex],
    vectors: Option<&mut [T::Complex]>,
) -> Outcome<bool> {
    let Some(schur) = schur(par, a, n, vectors.is_some())? else { return Ok(false) };
    for (i, value) in values.iter_mut().enumerate() {
        *value = schur.t[i * n + i];
    }
    let Some(out) = vectors else { return Ok(true) };
    let x = triangular_vectors(&schur.t, n);
    let mut v = scratch::filled(n * n, T::Complex::ZERO);
    // Rows of x are eigenvectors of T; rows of the result those of A.
    product(par, &x, &schur.columns, [n, n, n], &mut v)?;
    for (k, v) in v.chunks_exact(n.max(1)).enumerate() {
        let length = v.iter().fold(T::Real::ZERO, |sum, x| sum + x.norm()).sqrt();
        for (i, x) in v.iter().enumerate() {
            out[i * n + k] = x.scale(T::Real::ONE / length);
        }
    }
    Ok(true)
}

/// Eigenvectors of an upper triangular matrix, as rows, by back substitution.
fn triangular_vectors<C: ComplexScalar>(t: &[C], n: usize) -> Vec<C> {
    let least = (largest(t) * C::Real::EPSILON).larger(C::Real::MIN_POSITIVE);
    let mut vectors = scratch::filled(n * n, C::ZERO);
    for (k, x) in vectors.chunks_exact_mut(n.max(1)).enumerate() {
        x[k] = C::ONE;
        for i in (0..k).rev() {
            let row = &t[i * n..(i + 1) * n];
            let sum = row[i + 1..=k].iter().zip(&x[i + 1..=k]).fold(C::ZERO, |sum, (t, x)| sum + *t * *x);
            let gap = t[i * n + i] - t[k * n + k];
            // Equal eigenvalues: as if they were apart by a rounding error.
            x[i] = -sum / if gap.abs() < least { C::from_real(least) } else { gap };
        }
    }
    vectors
}
