//! The Schur form of a complex matrix: reduction to Hessenberg form, then implicit QR steps with single shifts.

use super::householder::reflector;
use super::{ComplexScalar, RealScalar, Scalar, axpy, identity, largest};
use crate::scratch;

/// Steps that an eigenvalue may take on average.
const MOST_STEPS: usize = 30;
/// Steps without convergence before a shift that breaks cycles.
const EXCEPTIONAL: usize = 10;

/// `A = U T U^H`, T upper triangular.
pub struct Schur<C> {
    pub t: Vec<C>,
    /// The columns of U as rows; none if they were not asked for.
    pub columns: Vec<C>,
}

/// None if it does not converge, or the matrix has infinities or NaN.
pub fn schur<C: ComplexScalar>(a: impl Iterator<Item = C>, n: usize, vectors: bool) -> Option<Schur<C>> {
    let mut t = scratch::collect(a);
    let size = largest(&t);
    if !size.is_finite() {
        return None;
    }
    let scale = if size == C::Real::ZERO { C::Real::ONE } else { size };
    t.iter_mut().for_each(|x| *x = x.scale(C::Real::ONE / scale));
    let mut columns = if vectors { identity(n) } else { Vec::new() };
    hessenberg(&mut t, n, &mut columns);
    if !triangularise(&mut t, n, &mut columns) {
        return None;
    }
    t.iter_mut().for_each(|x| *x = x.scale(scale));
    Some(Schur { t, columns })
}

fn hessenberg<C: ComplexScalar>(h: &mut [C], n: usize, columns: &mut [C]) {
    let mut sums = scratch::filled(n, C::ZERO);
    for k in 0..n.saturating_sub(2) {
        let mut v = scratch::collect((k + 1..n).map(|i| h[i * n + k]));
        let (tau, beta) = reflector(&mut v);
        h[(k + 1) * n + k] = C::from_real(beta);
        (k + 2..n).for_each(|i| h[i * n + k] = C::ZERO);
        if tau == C::ZERO {
            continue;
        }
        // H from the left, H^H from the right.
        let sums = &mut sums[..n - k - 1];
        sums.fill(C::ZERO);
        for (i, v) in v.iter().enumerate() {
            axpy(v.conj(), &h[(k + 1 + i) * n + k + 1..(k + 2 + i) * n], sums);
        }
        for (i, v) in v.iter().enumerate() {
            axpy(-(tau * *v), sums, &mut h[(k + 1 + i) * n + k + 1..(k + 2 + i) * n]);
        }
        for row in h.chunks_exact_mut(n) {
            let sum = row[k + 1..].iter().zip(&v).fold(C::ZERO, |sum, (x, v)| sum + *x * *v);
            for (x, v) in row[k + 1..].iter_mut().zip(&v) {
                *x = *x - tau.conj() * sum * v.conj();
            }
        }
        // Columns of U H^H: the sums run over its columns, which are rows here.
        if columns.is_empty() {
            continue;
        }
        let mut sum = scratch::filled(n, C::ZERO);
        for (column, v) in columns[(k + 1) * n..].chunks_exact(n).zip(&v) {
            axpy(*v, column, &mut sum);
        }
        for (column, v) in columns[(k + 1) * n..].chunks_exact_mut(n).zip(&v) {
            axpy(-(tau.conj() * v.conj()), &sum, column);
        }
    }
}

/// `[c, s; -conj(s), c]` takes `(p, q)` to `(r, 0)`.
struct Rotation<C: Scalar> {
    c: C::Real,
    s: C,
    r: C,
}

impl<C: ComplexScalar> Rotation<C> {
    fn new(p: C, q: C) -> Self {
        let (size_p, size_q) = (p.abs(), q.abs());
        let size = size_p.hypot(size_q);
        if size_q == C::Real::ZERO || size == C::Real::ZERO {
            return Rotation { c: C::Real::ONE, s: C::ZERO, r: p };
        }
        let phase = if size_p == C::Real::ZERO { C::ONE } else { p.scale(C::Real::ONE / size_p) };
        let s = (q.conj() * phase).scale(C::Real::ONE / size);
        Rotation { c: size_p / size, s, r: phase.scale(size) }
    }

    /// Two rows from the left.
    fn rows(&self, p: &mut [C], q: &mut [C]) {
        for (p, q) in p.iter_mut().zip(q) {
            (*p, *q) = (p.scale(self.c) + self.s * *q, q.scale(self.c) - self.s.conj() * *p);
        }
    }

    /// The adjoint from the right, on two columns.
    fn columns(&self, p: &mut C, q: &mut C) {
        (*p, *q) = (p.scale(self.c) + self.s.conj() * *q, q.scale(self.c) - self.s * *p);
    }
}

fn triangularise<C: ComplexScalar>(h: &mut [C], n: usize, columns: &mut [C]) -> bool {
    let (mut end, mut steps, mut since) = (n.saturating_sub(1), 0, 0);
    while end > 0 {
        let mut start = end;
        while start > 0 && !is_negligible(h, n, start) {
            start -= 1;
        }
        if start > 0 {
            h[start * n + start - 1] = C::ZERO;
        }
        if start == end {
            (end, since) = (end - 1, 0);
            continue;
        }
        (steps, since) = (steps + 1, since + 1);
        if steps > MOST_STEPS * n {
            return false;
        }
        let shift = if since % EXCEPTIONAL == 0 {
            C::from_real(h[end * n + end - 1].abs() + h[(end - 1) * n + end.saturating_sub(2)].abs())
        } else {
            shift(h, n, end)
        };
        step(h, n, start, end, shift, columns);
    }
    true
}

/// Whether the element left of `(i, i)` is zero beside the diagonal.
fn is_negligible<C: ComplexScalar>(h: &[C], n: usize, i: usize) -> bool {
    let around = h[(i - 1) * n + i - 1].abs() + h[i * n + i].abs();
    let below = h[i * n + i - 1].abs();
    below <= C::Real::EPSILON * around || below < C::Real::MIN_POSITIVE
}

/// Wilkinson's shift: the eigenvalue of the last two by two block that is nearer to its last element.
fn shift<C: ComplexScalar>(h: &[C], n: usize, end: usize) -> C {
    let at = |i: usize, j: usize| h[(end - 1 + i) * n + end - 1 + j];
    let half = (at(0, 0) - at(1, 1)).scale(C::Real::from_f64(0.5));
    let product = at(0, 1) * at(1, 0);
    let root = (half * half + product).sqrt();
    let under = if (half + root).abs() >= (half - root).abs() { half + root } else { half - root };
    if under == C::ZERO { at(1, 1) } else { at(1, 1) - product / under }
}

/// One QR step on the block from `start` to `end`.
fn step<C: ComplexScalar>(h: &mut [C], n: usize, start: usize, end: usize, shift: C, columns: &mut [C]) {
    for i in start..end {
        let rotation = if i == start {
            Rotation::new(h[i * n + i] - shift, h[(i + 1) * n + i])
        } else {
            Rotation::new(h[i * n + i - 1], h[(i + 1) * n + i - 1])
        };
        if i > start {
            h[i * n + i - 1] = rotation.r;
            h[(i + 1) * n + i - 1] = C::ZERO;
        }
        let (head, tail) = h.split_at_mut((i + 1) * n);
        rotation.rows(&mut head[i * n + i..], &mut tail[i..n]);
        for row in h[..((i + 2).min(end) + 1) * n].chunks_exact_mut(n) {
            let (p, q) = row.split_at_mut(i + 1);
            rotation.columns(&mut p[i], &mut q[0]);
        }
        if !columns.is_empty() {
            let (p, q) = columns[i * n..(i + 2) * n].split_at_mut(n);
            p.iter_mut().zip(q).for_each(|(p, q)| rotation.columns(p, q));
        }
    }
}
