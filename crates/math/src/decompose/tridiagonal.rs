//! Tridiagonal matrices: solving and multiplying.

use super::{RealScalar, Scalar, axpy};
use crate::scratch;

/// The three diagonals, each of `n` elements: the last above and the first below the main one are not read.
#[derive(Clone, Copy)]
pub struct Tridiagonal<'a, T> {
    pub above: &'a [T],
    pub main: &'a [T],
    pub below: &'a [T],
}

/// `out = A x`, of `k` columns.
pub fn tridiagonal_product<T: Scalar>(a: Tridiagonal<'_, T>, x: &[T], k: usize, out: &mut [T]) {
    let n = a.main.len();
    for (i, row) in out.chunks_exact_mut(k.max(1)).enumerate() {
        row.fill(T::ZERO);
        axpy(a.main[i], &x[i * k..(i + 1) * k], row);
        if i + 1 < n {
            axpy(a.above[i], &x[(i + 1) * k..(i + 2) * k], row);
        }
        if i > 0 {
            axpy(a.below[i], &x[(i - 1) * k..i * k], row);
        }
    }
}

impl<T: Scalar> Tridiagonal<'_, T> {
    /// Overwrites `k` right-hand sides with the solution, without pivoting (Thomas). False if a pivot is zero.
    pub fn solve(&self, b: &mut [T], k: usize) -> bool {
        let n = self.main.len();
        let mut above = scratch::filled(n, T::ZERO);
        for i in 0..n {
            let (mut pivot, below) = (self.main[i], self.below[i]);
            let (head, row) = b.split_at_mut(i * k);
            let row = &mut row[..k];
            if i > 0 {
                pivot = pivot - below * above[i - 1];
                axpy(-below, &head[(i - 1) * k..], row);
            }
            if pivot == T::ZERO {
                return false;
            }
            above[i] = self.above[i] / pivot;
            row.iter_mut().for_each(|x| *x = *x / pivot);
        }
        for i in (0..n.saturating_sub(1)).rev() {
            let (head, tail) = b.split_at_mut((i + 1) * k);
            axpy(-above[i], &tail[..k], &mut head[i * k..]);
        }
        true
    }

    /// As `solve`, with partial pivoting. With `perturb`, pivots too small to divide by are moved away from zero, as LAPACK's
    /// `xLAGTS` does.
    pub fn solve_pivoting(&self, b: &mut [T], k: usize, perturb: bool) -> bool {
        let n = self.main.len();
        // Rows of U: its diagonal and two above.
        let mut u = scratch::filled(n, [T::ZERO; 3]);
        if n == 0 {
            return true;
        }
        u[0] = [self.main[0], self.above[0], T::ZERO];
        for i in 0..n - 1 {
            let last = i + 2 == n;
            let next = [self.below[i + 1], self.main[i + 1], if last { T::ZERO } else { self.above[i + 1] }];
            let (head, tail) = b.split_at_mut((i + 1) * k);
            let (row, other) = (&mut head[i * k..], &mut tail[..k]);
            let mut left = next;
            if next[0].abs() > u[i][0].abs() {
                left = std::mem::replace(&mut u[i], next);
                row.swap_with_slice(other);
            }
            if u[i][0] == T::ZERO && !perturb {
                return false;
            }
            let factor = if u[i][0] == T::ZERO { T::ZERO } else { left[0] / u[i][0] };
            u[i + 1] = [left[1] - factor * u[i][1], left[2] - factor * u[i][2], T::ZERO];
            axpy(-factor, row, other);
        }
        if u[n - 1][0] == T::ZERO && !perturb {
            return false;
        }
        substitute(&mut u, b, k, perturb);
        true
    }
}

/// Back substitution with two diagonals above the main one.
fn substitute<T: Scalar>(u: &mut [[T; 3]], b: &mut [T], k: usize, perturb: bool) {
    let n = u.len();
    let most = u.iter().flatten().fold(T::Real::ZERO, |most, x| most.larger(x.abs()));
    let least = (most * T::Real::EPSILON).larger(T::Real::MIN_POSITIVE);
    for i in (0..n).rev() {
        let (head, tail) = b.split_at_mut((i + 1) * k);
        let row = &mut head[i * k..];
        if i + 1 < n {
            axpy(-u[i][1], &tail[..k], row);
        }
        if i + 2 < n {
            axpy(-u[i][2], &tail[k..2 * k], row);
        }
        let mut pivot = u[i][0];
        if perturb && pivot.abs() < T::Real::MIN_POSITIVE {
            pivot = T::from_real(if pivot.re() < T::Real::ZERO { -least } else { least });
        }
        row.iter_mut().for_each(|x| *x = *x / pivot);
    }
}
