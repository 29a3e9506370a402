//! Singular values by one-sided Jacobi rotations (Hestenes), of R if the matrix is taller than wide (Drmac and Veselic).

use super::{Qr, RealScalar, Scalar, adjoint, dot, identity, largest, product, transposed};
use crate::parallel::Parallel;
use crate::scratch;

/// Passes over all pairs of columns; about ten are needed.
const MOST_SWEEPS: usize = 60;

/// `A = U S V^H`.
pub struct Svd<T: Scalar> {
    /// Descending.
    pub values: Vec<T::Real>,
    /// Row-major. As many columns as there are values, or with the columns that complete a basis.
    pub u: Vec<T>,
    pub v: Vec<T>,
}

/// Of a row-major matrix of `m` rows; `full` asks for square U and V. None if it has infinities or NaN.
pub fn svd<T: Scalar>(par: &dyn Parallel, a: &[T], m: usize, n: usize, full: bool) -> Option<Svd<T>> {
    if m < n {
        let Svd { values, u, v } = svd(par, &adjoint(par, a, m, n), n, m, full)?;
        return Some(Svd { values, u: v, v: u });
    }
    let size = largest(a);
    if !size.is_finite() {
        return None;
    }
    let scale = if size == T::Real::ZERO { T::Real::ONE } else { size };
    let mut columns = transposed(par, a, m, n);
    columns.iter_mut().for_each(|x| *x = x.scale(T::Real::ONE / scale));
    let mut rotated = Rotated { v: identity(n), columns, len: m, n };
    let qr = (m > n).then(|| Qr::of_columns(par, std::mem::take(&mut rotated.columns), m, n));
    if let Some(qr) = &qr {
        let mut r = scratch::filled(n * n, T::ZERO);
        qr.r(&mut r);
        (rotated.columns, rotated.len) = (transposed(par, &r, n, n), n);
    }
    rotated.orthogonalise();
    let (values, mut u) = rotated.normalise(par);
    if let Some(qr) = qr {
        let mut tall = scratch::filled(n * m, T::ZERO);
        product(par, &u, &qr.q_columns(par, n), [n, n, m], &mut tall);
        u = tall;
    }
    let columns = if full { m } else { n };
    if columns > n {
        u = completed(par, u, n, m, columns);
    }
    let values = scratch::collect(values.into_iter().map(|s| s * scale));
    Some(Svd { values, u: transposed(par, &u, columns, m), v: transposed(par, &rotated.v, n, n) })
}

/// Columns, as rows of `len` elements, and the rotations that they have seen.
struct Rotated<T> {
    columns: Vec<T>,
    v: Vec<T>,
    len: usize,
    n: usize,
}

impl<T: Scalar> Rotated<T> {
    /// Rotates pairs of columns until all are orthogonal.
    fn orthogonalise(&mut self) {
        let tolerance = T::Real::EPSILON * T::Real::from_f64((self.len as f64).sqrt().max(2.0));
        for _ in 0..MOST_SWEEPS {
            let mut rotated = false;
            for p in 0..self.n {
                for q in p + 1..self.n {
                    rotated |= self.rotate(p, q, tolerance);
                }
            }
            if !rotated {
                break;
            }
        }
    }

    fn rotate(&mut self, p: usize, q: usize, tolerance: T::Real) -> bool {
        let (x, y) = pair(&mut self.columns, p, q, self.len);
        let (a, b, overlap) = (dot(x, x).re(), dot(y, y).re(), dot(x, y));
        let size = overlap.abs();
        if size <= tolerance * a.sqrt() * b.sqrt() || size < T::Real::MIN_POSITIVE {
            return false;
        }
        let one = T::Real::ONE;
        let zeta = (b - a) / (size + size);
        let t = one / (zeta.abs() + one.hypot(zeta));
        let t = if zeta < T::Real::ZERO { -t } else { t };
        let c = one / one.hypot(t);
        let s = overlap.scale(c * t / size);
        turn(x, y, c, s);
        let (x, y) = pair(&mut self.v, p, q, self.n);
        turn(x, y, c, s);
        true
    }

    /// Sorts by length; returns the lengths and the columns of unit length.
    fn normalise(&mut self, par: &dyn Parallel) -> (Vec<T::Real>, Vec<T>) {
        let (n, len) = (self.n, self.len);
        let norm = |x: &[T]| dot(x, x).re().sqrt();
        let lengths = scratch::collect((0..n).map(|j| norm(&self.columns[j * len..(j + 1) * len])));
        let mut order = scratch::collect(0..n);
        order.sort_unstable_by(|a, b| {
            lengths[*b].partial_cmp(&lengths[*a]).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(b))
        });
        let mut u = scratch::with_capacity(n * len);
        let mut v = scratch::with_capacity(n * n);
        let mut rank = 0;
        for j in &order {
            v.extend_from_slice(&self.v[j * n..(j + 1) * n]);
            if lengths[*j] > T::Real::MIN_POSITIVE {
                u.extend(
                    self.columns[j * len..(j + 1) * len].iter().map(|x| x.scale(T::Real::ONE / lengths[*j])),
                );
                rank += 1;
            }
        }
        self.v = v;
        let u = if rank < n { completed(par, u, rank, len, n) } else { u };
        (scratch::collect(order.iter().map(|j| lengths[*j])), u)
    }
}

/// Orthonormal columns, with others that are orthogonal to them: the rest of a QR's basis.
fn completed<T: Scalar>(par: &dyn Parallel, have: Vec<T>, rank: usize, len: usize, count: usize) -> Vec<T> {
    let qr = Qr::of_columns(par, scratch::collect(have.iter().copied()), len, rank);
    let mut all = qr.q_columns(par, count);
    all[..rank * len].copy_from_slice(&have);
    all
}

fn pair<T>(rows: &mut [T], p: usize, q: usize, len: usize) -> (&mut [T], &mut [T]) {
    let (head, tail) = rows.split_at_mut(q * len);
    (&mut head[p * len..(p + 1) * len], &mut tail[..len])
}

#[inline]
fn turn<T: Scalar>(x: &mut [T], y: &mut [T], c: T::Real, s: T) {
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (x.scale(c) - s.conj() * *y, s * *x + y.scale(c));
    }
}
