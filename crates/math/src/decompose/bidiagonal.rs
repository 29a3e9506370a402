//! Reduction to bidiagonal form, and its singular values by implicit QR steps (Golub and Kahan).

use super::householder::{Reflectors, reflector};
use super::rank_two::{Update, times_vector, update_and_project};
use super::rotations::Rotated;
use super::{RealScalar, Scalar, conjugate};
use crate::parallel::Parallel;
use crate::scratch;

/// Steps that a singular value may take on average.
const MOST_STEPS: usize = 30;

/// `U^H A V` is bidiagonal and real.
pub struct Bidiagonal<T: Scalar> {
    pub diagonal: Vec<T::Real>,
    /// Right of the diagonal, and a zero.
    pub above: Vec<T::Real>,
    /// The reflectors of U.
    pub left: Reflectors<T>,
    /// Those of V.
    pub right: Reflectors<T>,
}

impl<T: Scalar> Bidiagonal<T> {
    /// Of a square matrix, which is overwritten. The update of the matrix by each pair of reflectors is left for the pass of the next.
    pub fn new(a: &mut [T], n: usize) -> Self {
        let mut b = Bidiagonal {
            diagonal: scratch::filled(n, T::Real::ZERO),
            above: scratch::filled(n, T::Real::ZERO),
            left: Reflectors::new(n, n, 0),
            right: Reflectors::new(n.saturating_sub(1), n, 1),
        };
        // A - u z^T - y v^T is the matrix.
        let [mut u, mut z, mut y, mut v, mut sums] = [(); 5].map(|()| scratch::filled(n, T::ZERO));
        let [mut column, mut row] = [(); 2].map(|()| scratch::with_capacity(n));
        for k in 0..n {
            column.clear();
            column.extend((k..n).map(|r| a[r * n + k] - (u[r] * z[k] + y[r] * v[k])));
            let (tau, beta) = reflector(&mut column);
            b.diagonal[k] = beta;
            b.left.push(&column, tau);
            let after = k + 1;
            if after == n {
                break;
            }
            let update = Update { u: &u[k..], z: &z[after..], y: &y[k..], v: &v[after..] };
            update_and_project(&mut a[k * n..], n, after, update, &column, &mut sums[after..]);
            u[k..].copy_from_slice(&column);
            z.iter_mut().zip(&sums).skip(after).for_each(|(z, sum)| *z = *sum * tau);
            row.clear();
            row.extend(a[k * n + after..after * n].iter().zip(&z[after..]).map(|(a, z)| (*a - *z).conj()));
            let (tau, beta) = reflector(&mut row);
            b.above[k] = beta;
            b.right.push(&row, tau);
            times_vector(&a[after * n..], n, after, &row, &mut y[after..]);
            let along = z[after..].iter().zip(&row).fold(T::ZERO, |sum, (z, v)| sum + *z * *v);
            for (y, u) in y[after..].iter_mut().zip(&u[after..]) {
                *y = tau.conj() * (*y - *u * along);
            }
            v[after..].copy_from_slice(&row);
            conjugate(&mut v[after..]);
        }
        b
    }
}

/// A real bidiagonal matrix, and the columns of U and V, if they are wanted.
pub struct Iteration<'a, R> {
    pub diagonal: &'a mut [R],
    pub above: &'a mut [R],
    pub u: Option<Rotated<R>>,
    pub v: Option<Rotated<R>>,
}

impl<R: RealScalar> Iteration<'_, R> {
    /// Makes it diagonal; the singular values may be negative then. False if it does not converge.
    pub fn run(&mut self, par: &dyn Parallel) -> bool {
        let n = self.diagonal.len();
        let sizes = self.diagonal.iter().chain(&*self.above);
        let norm = sizes.fold(R::ZERO, |most, x| most.larger(x.abs()));
        let least = (norm * R::EPSILON * R::from_f64(0.0625)).larger(R::MIN_POSITIVE);
        let (mut end, mut steps) = (n.saturating_sub(1), 0);
        while end > 0 {
            for i in 0..end {
                let around = self.diagonal[i].abs() + self.diagonal[i + 1].abs();
                if self.above[i].abs() <= (R::EPSILON * around).larger(least) {
                    self.above[i] = R::ZERO;
                }
            }
            while end > 0 && self.above[end - 1] == R::ZERO {
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
            while start > 0 && self.above[start - 1] != R::ZERO {
                start -= 1;
            }
            match (start..=end).rev().find(|i| self.diagonal[*i].abs() <= least) {
                Some(i) if i == end => self.clear_column(par, start, end),
                Some(i) => self.clear_row(par, i, end),
                None => self.step(par, start, end),
            }
        }
        true
    }

    /// A zero on the diagonal: rotates what is right of it to the end of the block, and out.
    fn clear_row(&mut self, par: &dyn Parallel, i: usize, end: usize) {
        self.diagonal[i] = R::ZERO;
        let mut f = std::mem::replace(&mut self.above[i], R::ZERO);
        for k in i + 1..=end {
            let (c, s, r) = rotation(self.diagonal[k], f);
            self.diagonal[k] = r;
            f = -s * self.above[k];
            if k < end {
                self.above[k] = c * self.above[k];
            }
            if let Some(u) = &mut self.u {
                u.rotate(par, [i, k], c, s);
            }
            if k == end || f == R::ZERO {
                break;
            }
        }
    }

    /// A zero at the end of the diagonal: rotates what is above it to the start of the block, and out.
    fn clear_column(&mut self, par: &dyn Parallel, start: usize, end: usize) {
        self.diagonal[end] = R::ZERO;
        let mut f = std::mem::replace(&mut self.above[end - 1], R::ZERO);
        for k in (start..end).rev() {
            let (c, s, r) = rotation(self.diagonal[k], f);
            self.diagonal[k] = r;
            if let Some(v) = &mut self.v {
                v.rotate(par, [k, end], c, -s);
            }
            if k == start {
                break;
            }
            f = -s * self.above[k - 1];
            self.above[k - 1] = c * self.above[k - 1];
        }
    }

    /// One implicit QR step on the block from `start` to `end`, which has no zeros.
    fn step(&mut self, par: &dyn Parallel, start: usize, end: usize) {
        let (d, e) = (&mut *self.diagonal, &mut *self.above);
        let shift = least_singular_value(d[end - 1], e[end - 1], d[end]);
        let size = d[start].abs();
        let ratio = shift / size;
        let shift = if ratio * ratio < R::EPSILON { R::ZERO } else { shift };
        let sign = if d[start] < R::ZERO { -R::ONE } else { R::ONE };
        let (mut f, mut g) = ((size - shift) * (sign + shift / d[start]), e[start]);
        for side in [&mut self.u, &mut self.v].into_iter().flatten() {
            side.begin(par, start);
        }
        for i in start..end {
            let (c, s, r) = rotation(f, g);
            if i > start {
                e[i - 1] = r;
            }
            f = c * d[i] + s * e[i];
            e[i] = c * e[i] - s * d[i];
            g = s * d[i + 1];
            d[i + 1] = c * d[i + 1];
            if let Some(v) = &mut self.v {
                v.push(c, -s);
            }
            let (c, s, r) = rotation(f, g);
            d[i] = r;
            f = c * e[i] + s * d[i + 1];
            d[i + 1] = c * d[i + 1] - s * e[i];
            if i + 1 < end {
                g = s * e[i + 1];
                e[i + 1] = c * e[i + 1];
            }
            if let Some(u) = &mut self.u {
                u.push(c, -s);
            }
        }
        e[end - 1] = f;
    }
}

/// Cosine, sine and length: `[c, s; -s, c]` takes (f, g) to (r, 0).
fn rotation<R: RealScalar>(f: R, g: R) -> (R, R, R) {
    if g == R::ZERO {
        return (R::ONE, R::ZERO, f);
    }
    let r = f.length(g);
    let share = R::ONE / r;
    (f * share, g * share, r)
}

/// Of `[f, g; 0, h]`, without squares that overflow.
fn least_singular_value<R: RealScalar>(f: R, g: R, h: R) -> R {
    let (f, g, h) = (f.abs(), g.abs(), h.abs());
    let (least, most) = if f < h { (f, h) } else { (h, f) };
    if least == R::ZERO {
        return R::ZERO;
    }
    let (sum, difference) = (R::ONE + least / most, (most - least) / most);
    if g < most {
        let square = (g / most) * (g / most);
        let two = R::ONE + R::ONE;
        return least * (two / ((sum * sum + square).sqrt() + (difference * difference + square).sqrt()));
    }
    let ratio = most / g;
    let (a, b) = (sum * ratio, difference * ratio);
    let c = R::ONE / ((R::ONE + a * a).sqrt() + (R::ONE + b * b).sqrt());
    let half = (least * c) * ratio;
    half + half
}
