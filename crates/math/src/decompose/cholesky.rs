//! Cholesky factors of Hermitian matrices, and their gradient.

use super::triangular::{Triangle, triangular_solve};
use super::{BLOCK, Outcome, RealScalar, Scalar, adjoint, multiply, rows};
use crate::gemm::MatMut;
use crate::parallel::Parallel;
use crate::scratch;
use crate::simd::{Loop, widest};

/// Overwrites a matrix, of which only the lower triangle is read, with the lower triangular L, where `L L^H` is the matrix. False if
/// it is not positive definite.
pub fn cholesky<T: Scalar>(par: &dyn Parallel, a: &mut [T], n: usize) -> Outcome<bool> {
    let mut start = 0;
    while start < n {
        let end = (start + BLOCK).min(n);
        if !factor_panel(a, n, start, end) {
            return Ok(false);
        }
        subtract_panel(par, a, n, start, end)?;
        start = end;
    }
    for i in 0..n {
        a[i * n + i + 1..(i + 1) * n].fill(T::ZERO);
    }
    Ok(true)
}

/// The columns of L from `start` to `end`, in a copy whose rows they are: loops are as long as the columns. False if a pivot is not positive.
fn factor_panel<T: Scalar>(a: &mut [T], n: usize, start: usize, end: usize) -> bool {
    let (width, len) = (end - start, n - start);
    let mut columns = scratch::filled(width * len, T::ZERO);
    for (i, row) in a.chunks_exact(n).skip(start).enumerate() {
        for (j, x) in row[start..end].iter().enumerate() {
            columns[j * len + i] = *x;
        }
    }
    let positive = widest(Panel { columns: &mut columns, len });
    for (i, row) in a.chunks_exact_mut(n).skip(start).enumerate() {
        for (j, x) in row[start..end].iter_mut().enumerate().take(i + 1) {
            *x = columns[j * len + i];
        }
    }
    positive
}

struct Panel<'a, T> {
    columns: &'a mut [T],
    len: usize,
}

impl<T: Scalar> Loop for Panel<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> bool {
        let mut rest = self.columns;
        let mut j = 0;
        while let Some((column, after)) = rest.split_at_mut_checked(self.len)
            && !column.is_empty()
        {
            let pivot = column[j].re();
            if pivot <= T::Real::ZERO {
                return false;
            }
            let share = T::Real::ONE / pivot.sqrt();
            column[j..].iter_mut().for_each(|x| *x = x.scale(share));
            column[j] = T::from_real(pivot.sqrt());
            for (k, other) in after.chunks_exact_mut(self.len).enumerate().map(|(k, c)| (j + 1 + k, c)) {
                let factor = -column[k].conj();
                for (x, y) in other[k..].iter_mut().zip(&column[k..]) {
                    *x = x.add_product::<FMA>(factor, *y);
                }
            }
            (rest, j) = (after, j + 1);
        }
        true
    }
}

/// Subtracts the product of the panel's rows below `end` from the lower triangle there, by blocks of rows.
fn subtract_panel<T: Scalar>(
    par: &dyn Parallel,
    a: &mut [T],
    n: usize,
    start: usize,
    end: usize,
) -> Outcome<()> {
    let (width, below) = (end - start, n - end);
    if below == 0 {
        return Ok(());
    }
    let mut panel = scratch::with_capacity(below * width);
    for i in end..n {
        panel.extend(a[i * n + start..i * n + end].iter().map(|x| x.conj()));
    }
    let mut negative = scratch::with_capacity(BLOCK * width);
    let mut first = 0;
    while first < below {
        let last = (first + BLOCK).min(below);
        negative.clear();
        negative.extend(panel[first * width..last * width].iter().map(|x| -x.conj()));
        let into = &mut a[(end + first) * n + end..];
        let into = MatMut::new(into, last - first, last, n)?;
        multiply(
            par,
            rows(&negative, last - first, width, width)?,
            rows(&panel, last, width, width)?.t(),
            into,
            true,
        )?;
        first = last;
    }
    Ok(())
}

/// The gradient of the matrix, from its factor L and the gradient of L: Hermitian.
///
/// With `P` the lower triangle of `L^H dL`, its diagonal halved: `L^-H P L^-1`, made Hermitian.
pub fn cholesky_gradient<T: Scalar>(
    par: &dyn Parallel,
    l: &[T],
    dl: &[T],
    n: usize,
    out: &mut [T],
) -> Outcome<()> {
    let mut lower = scratch::collect(l.iter().copied());
    let mut middle = scratch::collect(dl.iter().copied());
    for i in 0..n {
        lower[i * n + i + 1..(i + 1) * n].fill(T::ZERO);
        middle[i * n + i + 1..(i + 1) * n].fill(T::ZERO);
    }
    let left = adjoint(par, &lower, n, n);
    super::product(par, &left, &middle, [n, n, n], out)?;
    let half = T::Real::from_f64(0.5);
    for i in 0..n {
        out[i * n + i] = out[i * n + i].scale(half);
        out[i * n + i + 1..(i + 1) * n].fill(T::ZERO);
    }
    let by_adjoint = Triangle { lower: true, adjoint: true, unit: false };
    triangular_solve(par, &lower, n, by_adjoint, out, n)?;
    let mut turned = adjoint(par, out, n, n);
    triangular_solve(par, &lower, n, by_adjoint, &mut turned, n)?;
    let back = adjoint(par, &turned, n, n);
    for i in 0..n {
        for j in 0..n {
            out[i * n + j] = (back[i * n + j] + turned[i * n + j]).scale(half);
        }
    }
    Ok(())
}
