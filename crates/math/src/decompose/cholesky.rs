//! Cholesky factors of Hermitian matrices, and their gradient.

use super::triangular::{Triangle, triangular_solve};
use super::{BLOCK, RealScalar, Scalar, adjoint, multiply, rows};
use crate::gemm::MatMut;
use crate::parallel::Parallel;
use crate::scratch;

/// Overwrites a matrix, of which only the lower triangle is read, with the lower triangular L, where `L L^H` is the matrix. False if
/// it is not positive definite.
pub fn cholesky<T: Scalar>(par: &dyn Parallel, a: &mut [T], n: usize) -> bool {
    let mut start = 0;
    while start < n {
        let end = (start + BLOCK).min(n);
        for i in start..n {
            let (above, row) = a.split_at_mut(i * n);
            let row = &mut row[start..];
            for j in start..end.min(i) {
                let other = &above[j * n + start..=j * n + j];
                let done = super::dot(&other[..j - start], &row[..j - start]);
                row[j - start] = (row[j - start] - done) / other[j - start];
            }
            if i < end {
                let done = super::dot(&row[..i - start], &row[..i - start]);
                let pivot = (row[i - start] - done).re();
                if pivot <= T::Real::ZERO {
                    return false;
                }
                row[i - start] = T::from_real(pivot.sqrt());
            }
        }
        subtract_panel(par, a, n, start, end);
        start = end;
    }
    for i in 0..n {
        a[i * n + i + 1..(i + 1) * n].fill(T::ZERO);
    }
    true
}

/// Subtracts the product of the panel's rows below `end` from the lower triangle there, by blocks of rows.
fn subtract_panel<T: Scalar>(par: &dyn Parallel, a: &mut [T], n: usize, start: usize, end: usize) {
    let (width, below) = (end - start, n - end);
    if below == 0 {
        return;
    }
    let mut panel = scratch::with_capacity(below * width);
    for i in end..n {
        panel.extend(a[i * n + start..i * n + end].iter().map(|x| x.conj()));
    }
    let mut negative = scratch::with_capacity(BLOCK * width);
    let mut first = 0;
    while first < below {
        let last = (first + BLOCK).min(below);
        negative.clear();
        negative.extend(panel[first * width..last * width].iter().map(|x| -x.conj()));
        let into = &mut a[(end + first) * n + end..];
        let into = MatMut::new(into, last - first, last, n).expect("rows inside of the matrix");
        multiply(
            par,
            rows(&negative, last - first, width, width),
            rows(&panel, last, width, width).t(),
            into,
            true,
        );
        first = last;
    }
}

/// The gradient of the matrix, from its factor L and the gradient of L: Hermitian.
///
/// With `P` the lower triangle of `L^H dL`, its diagonal halved: `L^-H P L^-1`, made Hermitian.
pub fn cholesky_gradient<T: Scalar>(par: &dyn Parallel, l: &[T], dl: &[T], n: usize, out: &mut [T]) {
    let mut lower = scratch::collect(l.iter().copied());
    let mut middle = scratch::collect(dl.iter().copied());
    for i in 0..n {
        lower[i * n + i + 1..(i + 1) * n].fill(T::ZERO);
        middle[i * n + i + 1..(i + 1) * n].fill(T::ZERO);
    }
    let left = adjoint(par, &lower, n, n);
    super::product(par, &left, &middle, [n, n, n], out);
    let half = T::Real::from_f64(0.5);
    for i in 0..n {
        out[i * n + i] = out[i * n + i].scale(half);
        out[i * n + i + 1..(i + 1) * n].fill(T::ZERO);
    }
    let by_adjoint = Triangle { lower: true, adjoint: true, unit: false };
    triangular_solve(par, &lower, n, by_adjoint, out, n);
    let mut turned = adjoint(par, out, n, n);
    triangular_solve(par, &lower, n, by_adjoint, &mut turned, n);
    let back = adjoint(par, &turned, n, n);
    for i in 0..n {
        for j in 0..n {
            out[i * n + j] = (back[i * n + j] + turned[i * n + j]).scale(half);
        }
    }
}
