//! Eigenvalues and eigenvectors of Hermitian matrices: reduction to tridiagonal form, then implicit QR steps with Wilkinson's shift
//! (Golub and Van Loan, algorithms 8.3.1 to 8.3.3).

use super::householder::{Reflectors, reflector};
use super::rank_two::update_and_multiply_hermitian;
use super::rotations::Rotated;
use super::{Outcome, RealScalar, Scalar, axpy, dot, largest};
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
) -> Outcome<bool> {
    let mut lower = scratch::filled(n * n, T::ZERO);
    for (i, (to, from)) in lower.chunks_exact_mut(n.max(1)).zip(a.chunks_exact(n.max(1))).enumerate() {
        to[..i].copy_from_slice(&from[..i]);
        to[i] = T::from_real(from[i].re());
    }
    let size = largest(&lower);
    if !size.is_finite() {
        return Ok(false);
    }
    let scale = if size == T::Real::ZERO { T::Real::ONE } else { size };
    lower.iter_mut().for_each(|x| *x = x.scale(T::Real::ONE / scale));
    let mut below = scratch::filled(n, T::Real::ZERO);
    let reflectors = tridiagonalise(&mut lower, n, values, &mut below);
    let basis = vectors.is_some().then(|| reflectors.columns(par, n)).transpose()?;
    let mut columns = basis.map(|basis| Rotated::new(bytemuck::cast_slice::<T, T::Real>(&basis), n));
    if !diagonalise(par, values, &mut below, columns.as_mut()) {
        return Ok(false);
    }
    let mut order = scratch::collect(0..n);
    order.sort_unstable_by(|a, b| {
        values[*a].partial_cmp(&values[*b]).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(b))
    });
    below.iter_mut().zip(&order).for_each(|(to, from)| *to = values[*from] * scale);
    values.copy_from_slice(&below);
    if let (Some(columns), Some(out)) = (columns, vectors) {
        let rows = columns.finish(par, &order, &[]);
        crate::transpose::transpose(par, &[n, n], &[1, 0], bytemuck::cast_slice::<T::Real, T>(&rows), out);
    }
    Ok(true)
}

/// Diagonal and subdiagonal of `Q^H A Q`, and the reflectors of Q. The update of the matrix by each is left for the pass of the next.
fn tridiagonalise<T: Scalar>(
    a: &mut [T],
    n: usize,
    diagonal: &mut [T::Real],
    below: &mut [T::Real],
) -> Reflectors<T> {
    let mut reflectors = Reflectors::new(n, n, 1);
    let [mut v, mut w, mut product] = [(); 3].map(|()| scratch::filled(n, T::ZERO));
    let mut next = scratch::with_capacity(n);
    for i in 0..n {
        let [vi, wi] = [v[i].conj(), w[i].conj()];
        let column = |r: usize| a[r * n + i] - (v[r] * wi + w[r] * vi);
        diagonal[i] = column(i).re();
        if i + 1 == n {
            break;
        }
        next.clear();
        next.extend((i + 1..n).map(column));
        let (tau, beta) = reflector(&mut next);
        below[i] = beta;
        // H A H^H as a rank-two update: A - v w^H - w v^H.
        update_and_multiply_hermitian(a, n, i + 1, [&v[i + 1..], &w[i + 1..]], &next, &mut product[i + 1..]);
        let (v, w) = (&mut v[i + 1..], &mut w[i + 1..]);
        v.copy_from_slice(&next);
        w.iter_mut().zip(&product[i + 1..]).for_each(|(w, p)| *w = *p * tau.conj());
        let along = (dot(w, v) * tau.conj()).scale(T::Real::from_f64(-0.5));
        axpy(along, v, w);
        reflectors.push(v, tau);
    }
    reflectors
}

fn diagonalise<R: RealScalar>(
    par: &dyn Parallel,
    diagonal: &mut [R],
    below: &mut [R],
    mut columns: Option<&mut Rotated<R>>,
) -> bool {
    let n = diagonal.len();
    let (mut end, mut steps) = (n.saturating_sub(1), 0);
    while end > 0 {
        for i in 0..end {
            let around = diagonal[i].abs() + diagonal[i + 1].abs();
            if below[i].abs() <= R::EPSILON * around || below[i].abs() < R::MIN_POSITIVE {
                below[i] = R::ZERO;
            }
        }
        while end > 0 && below[end - 1] == R::ZERO {
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
        while start > 0 && below[start - 1] != R::ZERO {
            start -= 1;
        }
        if let Some(columns) = columns.as_deref_mut() {
            columns.begin(par, start);
        }
        step(diagonal, below, start, end, columns.as_deref_mut());
    }
    true
}

/// One implicit QR step on the block from `start` to `end`.
fn step<R: RealScalar>(
    diagonal: &mut [R],
    below: &mut [R],
    start: usize,
    end: usize,
    mut columns: Option<&mut Rotated<R>>,
) {
    let zero = R::ZERO;
    let (half, e) = ((diagonal[end - 1] - diagonal[end]) * R::from_f64(0.5), below[end - 1]);
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
        let share = R::ONE / x.length(z);
        let (c, s) = (x * share, -z * share);
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
            columns.push(c, s);
        }
    }
}
