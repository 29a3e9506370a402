//! Systems with triangular and with banded triangular matrices.

use super::{BLOCK, Outcome, Scalar, axpy, multiply, rows};
use crate::gemm::{MatMut, MatRef};
use crate::parallel::Parallel;
use crate::scratch;

/// Which triangle of a matrix is meant, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangle {
    pub lower: bool,
    /// The adjoint of that triangle.
    pub adjoint: bool,
    /// The diagonal is taken for ones.
    pub unit: bool,
}

/// Overwrites the `n` rows of `k` right-hand sides with the solution.
pub fn triangular_solve<T: Scalar>(
    par: &dyn Parallel,
    a: &[T],
    n: usize,
    triangle: Triangle,
    b: &mut [T],
    k: usize,
) -> Outcome<()> {
    let at = |i: usize, j: usize| if triangle.adjoint { a[j * n + i].conj() } else { a[i * n + j] };
    // The first rows are known first if the matrix, or the adjoint that is meant, is lower triangular.
    let forward = triangle.lower != triangle.adjoint;
    let mut done = 0;
    while done < n && k > 0 {
        let width = BLOCK.min(n - done);
        let start = if forward { done } else { n - done - width };
        for step in 0..width {
            let i = if forward { start + step } else { start + width - 1 - step };
            let solved = if forward { start..i } else { i + 1..start + width };
            for j in solved {
                let (row, other) = two_rows(b, i, j, k);
                axpy(-at(i, j), other, row);
            }
            if !triangle.unit {
                b[i * k..(i + 1) * k].iter_mut().for_each(|x| *x = *x / at(i, i));
            }
        }
        subtract_block(par, a, n, triangle.adjoint, start..start + width, forward, b, k)?;
        done += width;
    }
    Ok(())
}

/// Subtracts what the solved rows contribute from the rows that are left.
#[allow(clippy::too_many_arguments, reason = "a step of the function above")]
fn subtract_block<T: Scalar>(
    par: &dyn Parallel,
    a: &[T],
    n: usize,
    adjoint: bool,
    solved: std::ops::Range<usize>,
    forward: bool,
    b: &mut [T],
    k: usize,
) -> Outcome<()> {
    let left = if forward { solved.end..n } else { 0..solved.start };
    if left.is_empty() {
        return Ok(());
    }
    let width = solved.len();
    let mut negative = scratch::with_capacity(left.len() * width);
    let factors: MatRef<'_, T> = if adjoint {
        for j in solved.clone() {
            negative.extend(a[j * n + left.start..j * n + left.end].iter().map(|x| -x.conj()));
        }
        rows(&negative, width, left.len(), left.len())?.t()
    } else {
        for i in left.clone() {
            negative.extend(a[i * n + solved.start..i * n + solved.end].iter().map(|x| -*x));
        }
        rows(&negative, left.len(), width, width)?
    };
    let (known, rest) = if forward {
        let (head, tail) = b.split_at_mut(solved.end * k);
        (&head[solved.start * k..], tail)
    } else {
        let (head, tail) = b.split_at_mut(solved.start * k);
        (&tail[..width * k], head)
    };
    let into = MatMut::row_major(rest, left.len(), k)?;
    multiply(par, factors, rows(known, width, k, k)?, into, true)
}

/// Row `i`, and row `j` to read.
fn two_rows<T>(b: &mut [T], i: usize, j: usize, k: usize) -> (&mut [T], &[T]) {
    if i < j {
        let (head, tail) = b.split_at_mut(j * k);
        (&mut head[i * k..(i + 1) * k], &tail[..k])
    } else {
        let (head, tail) = b.split_at_mut(i * k);
        (&mut tail[..k], &head[j * k..(j + 1) * k])
    }
}

/// As `triangular_solve`, with a matrix given by its `bands` diagonals, the uppermost first: a lower triangular one with the
/// diagonals shifted right, an upper triangular one with them shifted left, as columns of the matrix. False if it is singular.
pub fn banded_solve<T: Scalar>(
    a: &[T],
    bands: usize,
    n: usize,
    triangle: Triangle,
    b: &mut [T],
    k: usize,
) -> bool {
    // Element (i, j) of the triangle itself.
    let stored = |i: usize, j: usize| {
        if triangle.lower { a[(i - j) * n + i] } else { a[(bands - 1 - (j - i)) * n + i] }
    };
    let at = |i: usize, j: usize| if triangle.adjoint { stored(j, i).conj() } else { stored(i, j) };
    let forward = triangle.lower != triangle.adjoint;
    for step in 0..n {
        let i = if forward { step } else { n - 1 - step };
        let pivot = at(i, i);
        if pivot == T::ZERO {
            return false;
        }
        let solved = if forward { i.saturating_sub(bands - 1)..i } else { i + 1..(i + bands).min(n) };
        for j in solved {
            let (row, other) = two_rows(b, i, j, k);
            axpy(-at(i, j), other, row);
        }
        b[i * k..(i + 1) * k].iter_mut().for_each(|x| *x = *x / pivot);
    }
    true
}
