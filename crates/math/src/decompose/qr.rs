//! QR by Householder reflectors, in panels of columns.

use super::householder::{Block, reflect, reflector};
use super::{Outcome, Scalar, transposed};
use crate::parallel::Parallel;
use crate::scratch;

/// Columns of a panel.
const PANEL: usize = 32;

/// The factors of a matrix of `m` rows and `n` columns.
pub struct Qr<T> {
    /// The columns, one after another: R, and below its diagonal the reflectors.
    columns: Vec<T>,
    taus: Vec<T>,
    m: usize,
    n: usize,
}

impl<T: Scalar> Qr<T> {
    pub fn new(par: &dyn Parallel, a: &[T], m: usize, n: usize) -> Outcome<Self> {
        Self::of_columns(par, transposed(par, a, m, n), m, n)
    }

    /// As `new`, from the columns one after another.
    pub fn of_columns(par: &dyn Parallel, columns: Vec<T>, m: usize, n: usize) -> Outcome<Self> {
        let steps = m.min(n);
        let mut qr = Qr { columns, taus: scratch::with_capacity(steps), m, n };
        let mut start = 0;
        while start < steps {
            let end = (start + PANEL).min(steps);
            for j in start..end {
                let (head, rest) = qr.columns.split_at_mut((j + 1) * m);
                let v = &mut head[j * m + j..];
                let (tau, beta) = reflector(v);
                for other in rest[..(end - j - 1) * m].chunks_exact_mut(m) {
                    reflect(v, tau, &mut other[j..]);
                }
                v[0] = T::from_real(beta);
                qr.taus.push(tau);
            }
            if end < n {
                let block = qr.block(start, end);
                block.apply(par, true, &mut qr.columns[end * m..], m, start)?;
            }
            start = end;
        }
        Ok(qr)
    }

    /// The reflectors of some columns.
    fn block(&self, start: usize, end: usize) -> Block<T> {
        let (m, len) = (self.m, self.m - start);
        let mut v = scratch::filled((end - start) * len, T::ZERO);
        for (j, v) in (start..end).zip(v.chunks_exact_mut(len.max(1))) {
            v[j - start] = T::ONE;
            v[j - start + 1..].copy_from_slice(&self.columns[j * m + j + 1..(j + 1) * m]);
        }
        Block::new(v, &self.taus[start..end])
    }

    /// The first rows of R, row-major.
    pub fn r(&self, out: &mut [T]) {
        for (i, row) in out.chunks_exact_mut(self.n.max(1)).enumerate() {
            for (j, x) in row.iter_mut().enumerate() {
                *x = if j < i { T::ZERO } else { self.columns[j * self.m + i] };
            }
        }
    }

    /// The first `count` columns of Q, one after another.
    pub fn q_columns(&self, par: &dyn Parallel, count: usize) -> Outcome<Vec<T>> {
        let (m, steps) = (self.m, self.taus.len());
        let mut q = scratch::filled(count * m, T::ZERO);
        for (j, column) in q.chunks_exact_mut(m.max(1)).enumerate() {
            column[j] = T::ONE;
        }
        let mut end = steps;
        while end > 0 {
            let start = (end - 1) / PANEL * PANEL;
            // The columns before are still those of the identity, and zero where these reflectors are not.
            self.block(start, end).apply(par, false, &mut q[start * m..], m, start)?;
            end = start;
        }
        Ok(q)
    }

    /// The first `count` columns of Q, row-major.
    pub fn q(&self, par: &dyn Parallel, count: usize, out: &mut [T]) -> Outcome<()> {
        let columns = self.q_columns(par, count)?;
        crate::transpose::transpose(par, &[count, self.m], &[1, 0], &columns, out);
        Ok(())
    }
}
