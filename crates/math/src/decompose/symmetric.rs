//! Eigenvalues and eigenvectors of Hermitian matrices: reduction to tridiagonal form, then implicit QR steps with Wilkinson's shift
//! (Golub and Van Loan, algorithms 8.3.1 to 8.3.3).

use super::householder::{reflect, reflector};
use super::{RealScalar, Scalar, axpy, dot, identity, largest};
use crate::parallel::Parallel;
use crate::scratch;

/// Steps that an eigenvalue may take on average.
const MOST_STEPS: usize = 30;

/// The eigenvalues of a matrix, of which only the lower triangle is read, in ascending order, and if `vectors` is there the
/// eigenvectors as its columns. False if it does not converge.
pub fn symmetric_eigen<T: Scalar>(
    par: &dyn Parallel,
    a: &[T],
    n: usize,
    values: &mut [T::Real],
    vectors: Option<&mut [T]>,
) -> bool {
    let mut full = scratch::filled(n * n, T::ZERO);
    for i in 0..n {
        for j in 0..i {
            full[i * n + j] = a[i * n + j];
            full[j * n + i] = a[i * n + j].conj();
        }
        full[i * n + i] = T::from_real(a[i * n + i].re());
    }
    let size = largest(&full);
    if !size.is_finite() {
        return false;
    }
    let scale = if size == T::Real::ZERO { T::Real::ONE } else { size };
    full.iter_mut().for_each(|x| *x = x.scale(T::Real::ONE / scale));
    let mut below = scratch::filled(n, T::Real::ZERO);
    let mut columns = vectors.is_some().then(|| identity(n));
    tridiagonalise(&mut full, n, values, &mut below, columns.as_deref_mut());
    if !diagonalise(values, &mut below, columns.as_deref_mut()) {
        return false;
    }
    sort(values, columns.as_deref_mut());
    values.iter_mut().for_each(|v| *v = *v * scale);
    if let (Some(columns), Some(out)) = (columns, vectors) {
        crate::transpose::transpose(par, &[n, n], &[1, 0], &columns, out);
    }
    true
}

/// Diagonal and subdiagonal of `Q^H A Q`; the columns of Q are written as rows.
fn tridiagonalise<T: Scalar>(
    a: &mut [T],
    n: usize,
    diagonal: &mut [T::Real],
    below: &mut [T::Real],
    columns: Option<&mut [T]>,
) {
    let mut reflectors = scratch::with_capacity(n);
    let mut w = scratch::filled(n, T::ZERO);
    for i in 0..n {
        diagonal[i] = a[i * n + i].re();
        if i + 1 == n {
            break;
        }
        let mut v = scratch::collect((i + 1..n).map(|j| a[j * n + i]));
        let (tau, beta) = reflector(&mut v);
        below[i] = beta;
        let w = &mut w[..v.len()];
        // H A H^H as a rank-two update: A - v w^H - w v^H.
        for (r, w) in w.iter_mut().enumerate() {
            let row = &a[(i + 1 + r) * n + i + 1..(i + 2 + r) * n];
            *w = row.iter().zip(&v).fold(T::ZERO, |sum, (a, v)| sum + *a * *v) * tau.conj();
        }
        let along = (dot(w, &v) * tau.conj()).scale(T::Real::from_f64(-0.5));
        axpy(along, &v, w);
        for (r, (vr, wr)) in v.iter().zip(&*w).enumerate() {
            let row = &mut a[(i + 1 + r) * n + i + 1..(i + 2 + r) * n];
            for (x, (v, w)) in row.iter_mut().zip(v.iter().zip(&*w)) {
                *x = *x - (*vr * w.conj() + *wr * v.conj());
            }
        }
        reflectors.push((v, tau));
    }
    let Some(columns) = columns else { return };
    // Q = H1^H H2^H ..: the last is applied first.
    for (i, (v, tau)) in reflectors.iter().enumerate().rev() {
        for column in columns.chunks_exact_mut(n) {
            reflect(v, tau.conj(), &mut column[i + 1..]);
        }
    }
}

fn diagonalise<T: Scalar>(
    diagonal: &mut [T::Real],
    below: &mut [T::Real],
    mut columns: Option<&mut [T]>,
) -> bool {
    let n = diagonal.len();
    let (mut end, mut steps) = (n.saturating_sub(1), 0);
    while end > 0 {
        for i in 0..end {
            let around = diagonal[i].abs() + diagonal[i + 1].abs();
            if below[i].abs() <= T::Real::EPSILON * around || below[i].abs() < T::Real::MIN_POSITIVE {
                below[i] = T::Real::ZERO;
            }
        }
        while end > 0 && below[end - 1] == T::Real::ZERO {
            end -= 1;
        }
        if end == 0 {
            break;
        }
        steps += 1;
        if steps > MOST_STEPS * n {
            return false;
        }
        let mut start = end - 1;
        while start > 0 && below[start - 1] != T::Real::ZERO {
            start -= 1;
        }
        step::<T>(diagonal, below, start, end, columns.as_deref_mut());
    }
    true
}

/// One implicit QR step on the block from `start` to `end`.
fn step<T: Scalar>(
    diagonal: &mut [T::Real],
    below: &mut [T::Real],
    start: usize,
    end: usize,
    mut columns: Option<&mut [T]>,
) {
    let n = diagonal.len();
    let zero = T::Real::ZERO;
    let (half, e) = ((diagonal[end - 1] - diagonal[end]) * T::Real::from_f64(0.5), below[end - 1]);
    let shift = match half.hypot(e) {
        _ if half == zero => diagonal[end] - e.abs(),
        h if half > zero => diagonal[end] - e * (e / (half + h)),
        h => diagonal[end] - e * (e / (half - h)),
    };
    let (mut x, mut z) = (diagonal[start] - shift, below[start]);
    for k in start..end {
        if z == zero {
            break;
        }
        let r = x.hypot(z);
        let (c, s) = (x / r, -z / r);
        let (d, e, next) = (diagonal[k], below[k], diagonal[k + 1]);
        let (low, corner) = (s * d + c * e, s * e + c * next);
        diagonal[k] = c * (c * d - s * e) - s * (c * e - s * next);
        diagonal[k + 1] = s * low + c * corner;
        below[k] = c * low - s * corner;
        if k > start {
            below[k - 1] = c * below[k - 1] - s * z;
        }
        x = below[k];
        if k + 1 < end {
            z = -s * below[k + 1];
            below[k + 1] = c * below[k + 1];
        }
        if let Some(columns) = columns.as_deref_mut() {
            let (p, q) = columns[k * n..(k + 2) * n].split_at_mut(n);
            for (p, q) in p.iter_mut().zip(q) {
                (*p, *q) = (p.scale(c) - q.scale(s), p.scale(s) + q.scale(c));
            }
        }
    }
}

/// Ascending, by exchanges.
fn sort<T: Scalar>(values: &mut [T::Real], mut columns: Option<&mut [T]>) {
    let n = values.len();
    for i in 0..n {
        let least = (i..n).fold(i, |least, j| if values[j] < values[least] { j } else { least });
        if least != i {
            values.swap(i, least);
            if let Some(columns) = columns.as_deref_mut() {
                let (head, tail) = columns.split_at_mut(least * n);
                head[i * n..(i + 1) * n].swap_with_slice(&mut tail[..n]);
            }
        }
    }
}
