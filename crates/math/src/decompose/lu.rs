//! LU with partial pivoting, and what follows from it: solutions, inverses, determinants.

use super::{BLOCK, Outcome, RealScalar, Scalar, Triangle, axpy, multiply, rows, triangular_solve};
use crate::gemm::MatMut;
use crate::parallel::Parallel;
use crate::scratch;

/// The factors of a square matrix: row `i` of `L U` is row `permutation[i]` of the matrix.
pub struct Lu<T> {
    /// L below the diagonal, which is ones, and U.
    pub factors: Vec<T>,
    pub permutation: Vec<usize>,
    /// Whether the permutation is odd.
    pub odd: bool,
    n: usize,
}

impl<T: Scalar> Lu<T> {
    pub(super) fn new(par: &dyn Parallel, a: &[T], n: usize) -> Outcome<Self> {
        let (factors, permutation) = (scratch::collect(a.iter().copied()), scratch::collect(0..n));
        let mut lu = Lu { factors, permutation, odd: false, n };
        let mut start = 0;
        while start < n {
            let end = (start + BLOCK).min(n);
            (start..end).for_each(|j| lu.eliminate(j, end));
            lu.update_right(par, start, end)?;
            start = end;
        }
        Ok(lu)
    }

    /// Column `j`: the pivot, the multipliers below it, and what they take off the other columns of the panel.
    fn eliminate(&mut self, j: usize, end: usize) {
        let n = self.n;
        let (mut best, mut pivot) = (T::Real::ZERO, j);
        for i in j..n {
            let size = self.factors[i * n + j].abs();
            if size > best {
                (best, pivot) = (size, i);
            }
        }
        if pivot != j {
            let (head, tail) = self.factors.split_at_mut(pivot * n);
            head[j * n..(j + 1) * n].swap_with_slice(&mut tail[..n]);
            self.permutation.swap(j, pivot);
            self.odd = !self.odd;
        }
        let (head, below) = self.factors.split_at_mut((j + 1) * n);
        let top = &head[j * n..];
        for row in below.chunks_exact_mut(n) {
            if top[j] != T::ZERO {
                row[j] = row[j] / top[j];
            }
            axpy(-row[j], &top[j + 1..end], &mut row[j + 1..end]);
        }
    }

    /// U right of a finished panel, and the trailing matrix below it.
    fn update_right(&mut self, par: &dyn Parallel, start: usize, end: usize) -> Outcome<()> {
        let n = self.n;
        if end == n {
            return Ok(());
        }
        for i in start + 1..end {
            let (head, row) = self.factors.split_at_mut(i * n);
            for j in start..i {
                axpy(-row[j], &head[j * n + end..(j + 1) * n], &mut row[end..n]);
            }
        }
        let (head, below) = self.factors.split_at_mut(end * n);
        let mut negative = scratch::with_capacity((n - end) * (end - start));
        for row in below.chunks_exact(n) {
            negative.extend(row[start..end].iter().map(|x| -*x));
        }
        let upper = rows(&head[start * n + end..], end - start, n - end, n)?;
        let into = MatMut::new(&mut below[end..], n - end, n - end, n)?;
        multiply(par, rows(&negative, n - end, end - start, end - start)?, upper, into, true)
    }

    /// The diagonal of U.
    pub fn pivots(&self) -> impl Iterator<Item = T> + '_ {
        self.factors.iter().step_by(self.n + 1).copied()
    }

    /// No pivot is zero or NaN.
    pub fn is_invertible(&self) -> bool {
        self.pivots().all(|p| p.abs() > T::Real::ZERO)
    }

    pub fn determinant(&self) -> T {
        let product = self.pivots().fold(T::ONE, |product, p| product * p);
        if self.odd { -product } else { product }
    }

    /// The determinant over its absolute value (0 if it is 0), and the logarithm of that.
    pub fn log_determinant(&self) -> (T, T::Real) {
        let (mut sign, mut log) = (if self.odd { -T::ONE } else { T::ONE }, T::Real::ZERO);
        for p in self.pivots() {
            let size = p.abs();
            sign = sign * if size == T::Real::ZERO { T::ZERO } else { p.sign() };
            log = log + size.ln();
        }
        (sign, log)
    }

    /// Overwrites `k` right-hand sides with the solution, of the adjoint if `adjoint`.
    pub(super) fn solve(&self, par: &dyn Parallel, adjoint: bool, b: &mut [T], k: usize) -> Outcome<()> {
        let n = self.n;
        let lower = Triangle { lower: true, adjoint, unit: true };
        let upper = Triangle { lower: false, adjoint, unit: false };
        let before = scratch::collect(b.iter().copied());
        if !adjoint {
            for (i, from) in self.permutation.iter().enumerate() {
                b[i * k..(i + 1) * k].copy_from_slice(&before[from * k..(from + 1) * k]);
            }
            triangular_solve(par, &self.factors, n, lower, b, k)?;
            return triangular_solve(par, &self.factors, n, upper, b, k);
        }
        let mut turned = before;
        triangular_solve(par, &self.factors, n, upper, &mut turned, k)?;
        triangular_solve(par, &self.factors, n, lower, &mut turned, k)?;
        for (i, to) in self.permutation.iter().enumerate() {
            b[to * k..(to + 1) * k].copy_from_slice(&turned[i * k..(i + 1) * k]);
        }
        Ok(())
    }
}
