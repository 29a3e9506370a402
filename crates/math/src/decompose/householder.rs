//! Householder reflectors `H = I - tau v v^H` with `H x = beta e1`, one by one and in blocks.

use super::{Outcome, RealScalar, Scalar, axpy, conjugate, dot, multiply, rows};
use crate::gemm::MatMut;
use crate::parallel::Parallel;
use crate::scratch;

/// Overwrites a vector with `v`, whose first element is 1; returns tau and beta, which is real. Beta has the opposite sign of the
/// real part of the first element, so that nothing cancels.
pub fn reflector<T: Scalar>(x: &mut [T]) -> (T, T::Real) {
    let Some((first, tail)) = x.split_first_mut() else { return (T::ZERO, T::Real::ZERO) };
    let below = tail.iter().fold(T::Real::ZERO, |sum, x| sum + x.norm());
    let turned = (*first - T::from_real(first.re())).norm();
    let tiny = T::Real::MIN_POSITIVE;
    let (head, mut beta) = (*first, first.re());
    *first = T::ONE;
    if below <= tiny && turned <= tiny {
        tail.fill(T::ZERO);
        return (T::ZERO, beta);
    }
    beta = (head.norm() + below).sqrt();
    if head.re() >= T::Real::ZERO {
        beta = -beta;
    }
    let under = head - T::from_real(beta);
    tail.iter_mut().for_each(|x| *x = *x / under);
    ((T::from_real(beta) - head).conj().scale(T::Real::ONE / beta), beta)
}

/// `x = H x`.
pub fn reflect<T: Scalar>(v: &[T], tau: T, x: &mut [T]) {
    if tau != T::ZERO {
        axpy(-(tau * dot(v, x)), v, x);
    }
}

/// Reflectors of a block.
const PANEL: usize = 32;
/// Vectors shorter than this are reflected one by one.
const SHORT: usize = 24;

/// The reflectors of a reduction: number `i` begins at element `i + offset` of a vector.
pub struct Reflectors<T> {
    /// Row by row, zero before their beginning.
    v: Vec<T>,
    taus: Vec<T>,
    len: usize,
    offset: usize,
}

impl<T: Scalar> Reflectors<T> {
    /// None yet, of vectors of `len` elements.
    pub fn new(count: usize, len: usize, offset: usize) -> Self {
        Reflectors {
            v: scratch::with_capacity(count * len),
            taus: scratch::with_capacity(count),
            len,
            offset,
        }
    }

    /// The next one, from its first element that is not zero on.
    pub fn push(&mut self, v: &[T], tau: T) {
        let before = self.taus.len() + self.offset;
        self.v.resize(self.v.len() + before, T::ZERO);
        self.v.extend_from_slice(v);
        self.taus.push(tau);
    }

    /// The first columns of `H1^H H2^H ..`, one after another.
    pub fn columns(&self, par: &dyn Parallel, count: usize) -> Outcome<Vec<T>> {
        let (len, offset) = (self.len, self.offset);
        let mut columns = scratch::filled(count * len, T::ZERO);
        columns.iter_mut().step_by(len + 1).for_each(|x| *x = T::ONE);
        let mut end = self.taus.len();
        while end > 0 {
            let start = if len < SHORT { end - 1 } else { (end - 1) / PANEL * PANEL };
            let first = start + offset;
            // The columns before are still those of the identity, and zero where the reflectors are not.
            let columns = &mut columns[(first * len).min(count * len)..];
            if len < SHORT {
                let v = &self.v[start * len + first..end * len];
                for column in columns.chunks_exact_mut(len) {
                    reflect(v, self.taus[start].conj(), &mut column[first..]);
                }
            } else {
                let mut rows = scratch::with_capacity((end - start) * (len - first));
                self.v[start * len..end * len]
                    .chunks_exact(len)
                    .for_each(|v| rows.extend_from_slice(&v[first..]));
                Block::new(rows, &self.taus[start..end]).apply(par, false, columns, len, first)?;
            }
            end = start;
        }
        Ok(columns)
    }
}

/// Several reflectors: the product of their adjoints `H1^H H2^H ..` is `I - V T V^H`.
pub struct Block<T> {
    /// Columns of V as rows, from their first element that is not zero in all of them.
    v: Vec<T>,
    /// Upper triangular.
    t: Vec<T>,
    count: usize,
    len: usize,
}

impl<T: Scalar> Block<T> {
    /// From rows of `v`, of equal length, and their taus.
    pub fn new(v: Vec<T>, taus: &[T]) -> Self {
        let count = taus.len();
        let len = v.len() / count.max(1);
        let mut t = scratch::filled(count * count, T::ZERO);
        let mut overlaps = scratch::filled(count, T::ZERO);
        for (i, tau) in taus.iter().enumerate() {
            let tau = tau.conj();
            for (j, overlap) in overlaps[..i].iter_mut().enumerate() {
                *overlap = dot(&v[j * len..(j + 1) * len], &v[i * len..(i + 1) * len]);
            }
            for j in 0..i {
                let sum = (j..i).fold(T::ZERO, |sum, k| sum + t[j * count + k] * overlaps[k]);
                t[j * count + i] = -(tau * sum);
            }
            t[i * count + i] = tau;
        }
        Block { v, t, count, len }
    }

    /// Applies `H1^H H2^H ..`, or its adjoint `.. H2 H1`, to the vectors that are rows of `w`, from element `first` on.
    pub fn apply(
        &self,
        par: &dyn Parallel,
        adjoint: bool,
        w: &mut [T],
        stride: usize,
        first: usize,
    ) -> Outcome<()> {
        let count = w.len() / stride.max(1);
        if count == 0 || self.count == 0 {
            return Ok(());
        }
        let mut conjugated = scratch::collect(self.v.iter().copied());
        conjugate(&mut conjugated);
        // As rows: w - (w conj(V)) T^T V^T, with conj(T) for the adjoint.
        let mut overlaps = scratch::filled(count * self.count, T::ZERO);
        let into = MatMut::row_major(&mut overlaps, count, self.count)?;
        let vectors = rows(&self.v, self.count, self.len, self.len)?;
        let right = rows(&conjugated, self.count, self.len, self.len)?.t();
        multiply(par, rows(&w[first..], count, self.len, stride)?, right, into, false)?;
        let mut t = scratch::collect(self.t.iter().map(|x| -*x));
        if adjoint {
            conjugate(&mut t);
        }
        let mut factors = scratch::filled(count * self.count, T::ZERO);
        let t = rows(&t, self.count, self.count, self.count)?.t_if(!adjoint);
        let into = MatMut::row_major(&mut factors, count, self.count)?;
        multiply(par, rows(&overlaps, count, self.count, self.count)?, t, into, false)?;
        let into = MatMut::new(&mut w[first..], count, self.len, stride)?;
        multiply(par, rows(&factors, count, self.count, self.count)?, vectors, into, true)
    }
}
