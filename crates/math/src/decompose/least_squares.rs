//! Least squares, by the normal equations or by singular values.

use super::{
    Outcome, RealScalar, Scalar, Triangle, adjoint, cholesky, product, svd, svd::Vectors, triangular_solve,
};
use crate::parallel::Parallel;
use crate::scratch;

/// The `x` that makes `|a x - b|^2 + penalty |x|^2` least, for each of `k` columns of `b`; if `a` has more columns than rows, the
/// shortest solution of `a x = b`. By the normal equations: false if the matrix has too low a rank for them.
pub fn least_squares<T: Scalar>(
    par: &dyn Parallel,
    a: &[T],
    [m, n]: [usize; 2],
    b: &[T],
    k: usize,
    penalty: T::Real,
    out: &mut [T],
) -> Outcome<bool> {
    let turned = adjoint(par, a, m, n);
    let size = m.min(n);
    let mut gramian = scratch::filled(size * size, T::ZERO);
    let tall = m >= n;
    if tall {
        product(par, &turned, a, [n, m, n], &mut gramian)?;
    } else {
        product(par, a, &turned, [m, n, m], &mut gramian)?;
    }
    gramian.iter_mut().step_by(size + 1).for_each(|d| *d = *d + T::from_real(penalty));
    if !cholesky(par, &mut gramian, size)? {
        return Ok(false);
    }
    let solve = |b: &mut [T]| {
        for adjoint in [false, true] {
            triangular_solve(par, &gramian, size, Triangle { lower: true, adjoint, unit: false }, b, k)?;
        }
        Ok(())
    };
    if tall {
        product(par, &turned, b, [n, m, k], out)?;
        solve(out)?;
    } else {
        let mut half = scratch::collect(b.iter().copied());
        solve(&mut half)?;
        product(par, &turned, &half, [n, m, k], out)?;
    }
    Ok(true)
}

/// The shortest of the least squares solutions, for matrices of any rank. False if they have infinities or NaN.
pub fn min_norm_least_squares<T: Scalar>(
    par: &dyn Parallel,
    a: &[T],
    [m, n]: [usize; 2],
    b: &[T],
    k: usize,
    out: &mut [T],
) -> Outcome<bool> {
    let Some(svd) = svd(par, a, m, n, Vectors::Thin)? else { return Ok(false) };
    let rank = svd.values.len();
    let mut along = scratch::filled(rank * k, T::ZERO);
    product(par, &adjoint(par, &svd.u, m, rank), b, [rank, m, k], &mut along)?;
    let most = svd.values.first().copied().unwrap_or(T::Real::ZERO);
    let least = most * T::Real::EPSILON * T::Real::from_f64(m.max(n) as f64);
    for (s, row) in svd.values.iter().zip(along.chunks_exact_mut(k.max(1))) {
        let inverse = if *s > least { T::Real::ONE / *s } else { T::Real::ZERO };
        row.iter_mut().for_each(|x| *x = x.scale(inverse));
    }
    product(par, &svd.v, &along, [n, rank, k], out)?;
    Ok(true)
}
