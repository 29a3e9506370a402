//! Singular values: of small matrices by one-sided Jacobi rotations (Hestenes), of larger ones by reduction to bidiagonal form. Both of R
//! if the matrix is taller than wide.

use super::bidiagonal::{Bidiagonal, Iteration};
use super::householder::Reflectors;
use super::rotations::Rotated;
use super::vectors::turn;
use super::{Outcome, Qr, RealScalar, Scalar, adjoint, dot, identity, largest, product, transposed};
use crate::parallel::Parallel;
use crate::scratch;

/// Passes over all pairs of columns; about ten are needed.
const MOST_SWEEPS: usize = 60;
/// The largest size at which Jacobi rotations are quicker.
const SMALL: usize = 5;

/// `A = U S V^H`.
pub struct Svd<T: Scalar> {
    /// Descending.
    pub values: Vec<T::Real>,
    /// Row-major. Empty, or as many columns as there are values, or with the columns that complete a basis.
    pub u: Vec<T>,
    pub v: Vec<T>,
}

/// Which singular vectors are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    None,
    /// As many as there are singular values.
    Thin,
    /// With those that complete a basis.
    Full,
}

/// Of a row-major matrix of `m` rows. None if it has infinities or NaN.
pub fn svd<T: Scalar>(
    par: &dyn Parallel,
    a: &[T],
    m: usize,
    n: usize,
    vectors: Vectors,
) -> Outcome<Option<Svd<T>>> {
    if m < n {
        let turned = svd(par, &adjoint(par, a, m, n), n, m, vectors)?;
        return Ok(turned.map(|Svd { values, u, v }| Svd { values, u: v, v: u }));
    }
    let size = largest(a);
    if !size.is_finite() {
        return Ok(None);
    }
    let scale = if size == T::Real::ZERO { T::Real::ONE } else { size };
    let mut columns = transposed(par, a, m, n);
    columns.iter_mut().for_each(|x| *x = x.scale(T::Real::ONE / scale));
    let qr = (m > n).then(|| Qr::of_columns(par, std::mem::take(&mut columns), m, n)).transpose()?;
    if let Some(qr) = &qr {
        let mut r = scratch::filled(n * n, T::ZERO);
        qr.r(&mut r);
        columns = transposed(par, &r, n, n);
    }
    let wanted = vectors != Vectors::None;
    let quick = if n > SMALL { by_bidiagonal(par, &columns, n, wanted)? } else { None };
    let Columns { values, mut u, v } = match quick {
        Some(found) => found,
        None => by_jacobi(par, columns, n, wanted)?,
    };
    let values = scratch::collect(values.into_iter().map(|s| s * scale));
    if !wanted {
        return Ok(Some(Svd { values, u: Vec::new(), v: Vec::new() }));
    }
    let count = if vectors == Vectors::Full { m } else { n };
    if let Some(qr) = qr {
        let mut q = qr.q_columns(par, count)?;
        let mut tall = scratch::filled(n * m, T::ZERO);
        product(par, &u, &q[..n * m], [n, n, m], &mut tall)?;
        q[..n * m].copy_from_slice(&tall);
        u = q;
    }
    Ok(Some(Svd { values, u: transposed(par, &u, count, m), v: transposed(par, &v, n, n) }))
}

/// Singular values, and the columns of U and V, one after another.
struct Columns<T: Scalar> {
    values: Vec<T::Real>,
    u: Vec<T>,
    v: Vec<T>,
}

/// Of the columns of a square matrix. None if it does not converge.
fn by_bidiagonal<T: Scalar>(
    par: &dyn Parallel,
    columns: &[T],
    n: usize,
    vectors: bool,
) -> Outcome<Option<Columns<T>>> {
    let mut matrix = transposed(par, columns, n, n);
    let mut b = Bidiagonal::new(&mut matrix, n);
    let side = |reflectors: &Reflectors<T>| {
        let basis = vectors.then(|| reflectors.columns(par, n)).transpose()?;
        Ok(basis.map(|basis| Rotated::new(bytemuck::cast_slice::<T, T::Real>(&basis), n)))
    };
    let (u, v) = (side(&b.left)?, side(&b.right)?);
    let mut iteration = Iteration { diagonal: &mut b.diagonal, above: &mut b.above, u, v };
    if !iteration.run(par) {
        return Ok(None);
    }
    let Iteration { u, v, .. } = iteration;
    let order = descending(&b.diagonal, |x| x.abs());
    let negated = scratch::collect(b.diagonal.iter().map(|d| *d < T::Real::ZERO));
    let done = |side: Option<Rotated<T::Real>>, negated: &[bool]| {
        let rows = side.map_or(Vec::new(), |side| side.finish(par, &order, negated));
        scratch::collect(bytemuck::cast_slice::<T::Real, T>(&rows).iter().copied())
    };
    let values = scratch::collect(order.iter().map(|i| b.diagonal[*i].abs()));
    Ok(Some(Columns { values, u: done(u, &[]), v: done(v, &negated) }))
}

fn by_jacobi<T: Scalar>(par: &dyn Parallel, columns: Vec<T>, n: usize, vectors: bool) -> Outcome<Columns<T>> {
    let v = if vectors { identity(n) } else { Vec::new() };
    let mut jacobi = Jacobi { v, columns, n };
    jacobi.orthogonalise();
    jacobi.normalise(par, vectors)
}

/// The indices, largest first.
fn descending<R: RealScalar>(values: &[R], key: impl Fn(R) -> R) -> Vec<usize> {
    let mut order = scratch::collect(0..values.len());
    order.sort_unstable_by(|a, b| {
        let (x, y) = (key(values[*a]), key(values[*b]));
        y.partial_cmp(&x).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(b))
    });
    order
}

/// Columns, as rows of `n` elements, and the rotations that they have seen, if they are wanted.
struct Jacobi<T> {
    columns: Vec<T>,
    v: Vec<T>,
    n: usize,
}

impl<T: Scalar> Jacobi<T> {
    /// Rotates pairs of columns until all are orthogonal.
    fn orthogonalise(&mut self) {
        let tolerance = T::Real::EPSILON * T::Real::from_f64((self.n as f64).sqrt().max(2.0));
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
        let (x, y) = pair(&mut self.columns, p, q, self.n);
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
        turn(x, y, c, -s.conj());
        if !self.v.is_empty() {
            let (x, y) = pair(&mut self.v, p, q, self.n);
            turn(x, y, c, -s.conj());
        }
        true
    }

    /// Sorts by length, and makes the columns of unit length.
    fn normalise(self, par: &dyn Parallel, vectors: bool) -> Outcome<Columns<T>> {
        let n = self.n;
        let column = |j: usize| &self.columns[j * n..(j + 1) * n];
        let lengths = scratch::collect((0..n).map(|j| dot(column(j), column(j)).re().sqrt()));
        let order = descending(&lengths, |x| x);
        let values = scratch::collect(order.iter().map(|j| lengths[*j]));
        if !vectors {
            return Ok(Columns { values, u: Vec::new(), v: Vec::new() });
        }
        let (mut u, mut v) = (scratch::with_capacity(n * n), scratch::with_capacity(n * n));
        for j in &order {
            v.extend_from_slice(&self.v[j * n..(j + 1) * n]);
            if lengths[*j] > T::Real::MIN_POSITIVE {
                u.extend(column(*j).iter().map(|x| x.scale(T::Real::ONE / lengths[*j])));
            }
        }
        if u.len() < n * n {
            let rank = u.len() / n;
            u = completed(par, u, rank, n, n)?;
        }
        Ok(Columns { values, u, v })
    }
}

/// Orthonormal columns, with others that are orthogonal to them: the rest of a QR's basis.
fn completed<T: Scalar>(
    par: &dyn Parallel,
    have: Vec<T>,
    rank: usize,
    len: usize,
    count: usize,
) -> Outcome<Vec<T>> {
    let qr = Qr::of_columns(par, scratch::collect(have.iter().copied()), len, rank)?;
    let mut all = qr.q_columns(par, count)?;
    all[..rank * len].copy_from_slice(&have);
    Ok(all)
}

fn pair<T>(rows: &mut [T], p: usize, q: usize, len: usize) -> (&mut [T], &mut [T]) {
    let (head, tail) = rows.split_at_mut(q * len);
    (&mut head[p * len..(p + 1) * len], &mut tail[..len])
}
