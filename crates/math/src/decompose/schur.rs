//! The Schur form of a complex matrix: reduction to Hessenberg form, then implicit QR steps with single shifts.

use super::householder::{Reflectors, reflector};
use super::rank_two::{Update, times_vector, update_and_project};
use super::vectors::turn;
use super::{ComplexScalar, Outcome, RealScalar, Scalar, conjugate, largest};
use crate::parallel::Parallel;
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
pub fn schur<T: Scalar>(
    par: &dyn Parallel,
    a: &[T],
    n: usize,
    vectors: bool,
) -> Outcome<Option<Schur<T::Complex>>> {
    let size = largest(a);
    if !size.is_finite() {
        return Ok(None);
    }
    let scale = if size == T::Real::ZERO { T::Real::ONE } else { size };
    let mut h = scratch::collect(a.iter().map(|x| x.scale(T::Real::ONE / scale)));
    // Real matrices stay real until here.
    let reflectors = hessenberg(&mut h, n);
    let complex = |from: &[T]| scratch::collect(from.iter().map(|x| x.to_complex()));
    let mut t = complex(&h);
    let mut columns = if vectors { complex(&reflectors.columns(par, n)?) } else { Vec::new() };
    if !triangularise(&mut t, n, &mut columns) {
        return Ok(None);
    }
    t.iter_mut().for_each(|x| *x = x.scale(scale));
    Ok(Some(Schur { t, columns }))
}

/// Overwrites a matrix with its Hessenberg form `Q^H A Q`; returns the reflectors of Q. The update of the matrix by each is left for the
/// pass of the next.
fn hessenberg<T: Scalar>(h: &mut [T], n: usize) -> Reflectors<T> {
    let mut reflectors = Reflectors::new(n, n, 1);
    // H - u z^T - y v^T is the matrix.
    let [mut u, mut z, mut y, mut v, mut sums] = [(); 5].map(|()| scratch::filled(n, T::ZERO));
    for k in 0..n {
        for (row, (u, y)) in h.chunks_exact_mut(n).zip(u.iter().zip(&y)) {
            row[k] = row[k] - (*u * z[k] + *y * v[k]);
        }
        let after = k + 1;
        if after == n {
            break;
        }
        let mut next = scratch::filled(n, T::ZERO);
        next.iter_mut().zip(h.chunks_exact(n)).skip(after).for_each(|(x, row)| *x = row[k]);
        let (tau, beta) = reflector(&mut next[after..]);
        h[after * n + k] = T::from_real(beta);
        h.chunks_exact_mut(n).skip(after + 1).for_each(|row| row[k] = T::ZERO);
        let update = Update { u: &u, z: &z[after..], y: &y, v: &v[after..] };
        update_and_project(h, n, after, update, &next, &mut sums[after..]);
        // H from the left takes v z^T off, H^H from the right y v^H.
        z.iter_mut().zip(&sums).for_each(|(z, sum)| *z = *sum * tau);
        times_vector(h, n, after, &next[after..], &mut y);
        let along = z[after..].iter().zip(&next[after..]).fold(T::ZERO, |sum, (z, v)| sum + *z * *v);
        for (y, u) in y.iter_mut().zip(&next) {
            *y = tau.conj() * (*y - *u * along);
        }
        reflectors.push(&next[after..], tau);
        v.copy_from_slice(&next);
        conjugate(&mut v);
        u = next;
    }
    reflectors
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
        turn(p, q, self.c, self.s)
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
            turn(p, q, rotation.c, rotation.s.conj());
        }
    }
}
