//! Batch normalisation on a matrix with a row for each sample and a column for each channel.
//!
//! Sums are accumulated in double precision, in parts that depend on the shape alone.

use crate::parallel::Parallel;
use crate::scratch;
use crate::shared::SharedMut;
use crate::simd::{Loop, widest};

/// Elements summed in one part.
const PART: usize = 1 << 15;

/// The mean and the variance of each column; NaN without rows.
pub fn moments(par: &dyn Parallel, width: usize, x: &[f32]) -> (Vec<f64>, Vec<f64>) {
    let rows = x.len().checked_div(width).unwrap_or(0);
    let share = |mut sums: Vec<f64>| {
        sums.iter_mut().for_each(|s| *s /= rows as f64);
        sums
    };
    let zeros = scratch::filled(width, 0.0);
    let mean = share(column_sums(par, width, x, x, &zeros, Term::First).0);
    let variance = share(column_sums(par, width, x, x, &mean, Term::Square).0);
    (mean, variance)
}

/// For each column, the sums of `dy` and of `dy * (x - mean)`.
pub fn gradient_sums(
    par: &dyn Parallel,
    width: usize,
    dy: &[f32],
    x: &[f32],
    mean: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    column_sums(par, width, dy, x, mean, Term::Both)
}

/// `out = (x - mean) * scale + shift`, plus `dy * factor` if there is a gradient; all but `x` and `dy` are per column.
pub struct Affine<'a> {
    pub mean: &'a [f32],
    pub scale: &'a [f32],
    pub shift: &'a [f32],
    pub gradient: Option<(&'a [f32], &'a [f32])>,
}

impl Affine<'_> {
    pub fn write(&self, par: &dyn Parallel, x: &[f32], out: &mut [f32]) {
        let width = self.mean.len();
        assert!(x.len() == out.len() && self.scale.len() == width && self.shift.len() == width);
        if let Some((factor, dy)) = self.gradient {
            assert!(factor.len() == width && dy.len() == x.len());
        }
        if width == 0 || out.is_empty() {
            return;
        }
        let shared = SharedMut::new(out);
        par.run_ranges(x.len() / width, (PART / width).max(1), &|rows| {
            let range = rows.start * width..rows.end * width;
            // SAFETY: the ranges of rows are disjoint.
            let out = unsafe { shared.range(range.clone()) };
            widest(AffineRows { what: self, x: &x[range.clone()], start: range.start, out });
        });
    }
}

struct AffineRows<'a> {
    what: &'a Affine<'a>,
    x: &'a [f32],
    start: usize,
    out: &'a mut [f32],
}

impl Loop for AffineRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (mean, scale, shift) = (self.what.mean, self.what.scale, self.what.shift);
        let width = mean.len();
        for (row, (out, x)) in self.out.chunks_exact_mut(width).zip(self.x.chunks_exact(width)).enumerate() {
            for ((((out, x), mean), scale), shift) in out.iter_mut().zip(x).zip(mean).zip(scale).zip(shift) {
                *out = (x - mean) * scale + shift;
            }
            if let Some((factor, dy)) = self.what.gradient {
                let dy = &dy[self.start + row * width..][..width];
                for ((out, dy), factor) in out.iter_mut().zip(dy).zip(factor) {
                    *out += dy * factor;
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Term {
    /// a
    First,
    /// (b - mean)^2
    Square,
    /// a, and a (b - mean)
    Both,
}

fn column_sums(
    par: &dyn Parallel,
    width: usize,
    a: &[f32],
    b: &[f32],
    mean: &[f64],
    term: Term,
) -> (Vec<f64>, Vec<f64>) {
    assert!(a.len() == b.len() && mean.len() == width);
    let rows = a.len().checked_div(width).unwrap_or(0);
    let each = (PART / width.max(1)).max(1);
    let parts = rows.div_ceil(each);
    let mut sums = scratch::filled(parts * 2 * width, 0.0);
    let shared = SharedMut::new(&mut sums);
    par.run_ranges(parts, 1, &|range| {
        for part in range {
            let rows = part * each * width..rows.min((part + 1) * each) * width;
            // SAFETY: each part is in one range only.
            let sums = unsafe { shared.range(part * 2 * width..(part + 1) * 2 * width) };
            widest(Part { a: &a[rows.clone()], b: &b[rows], mean, term, sums });
        }
    });
    let (mut first, mut second) = (scratch::filled(width, 0.0), scratch::filled(width, 0.0));
    for part in sums.chunks_exact((2 * width).max(1)) {
        first.iter_mut().zip(&part[..width]).for_each(|(all, part)| *all += part);
        second.iter_mut().zip(&part[width..]).for_each(|(all, part)| *all += part);
    }
    (first, second)
}

struct Part<'a> {
    a: &'a [f32],
    b: &'a [f32],
    mean: &'a [f64],
    term: Term,
    sums: &'a mut [f64],
}

/// Rows accumulated in single precision before the sum is added in double.
const DEPTH: usize = 32;

impl Loop for Part<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let width = self.mean.len();
        let (first, second) = self.sums.split_at_mut(width);
        for (a, b) in self.a.chunks(DEPTH * width).zip(self.b.chunks(DEPTH * width)) {
            let mut at = 0;
            while at + 32 <= width {
                lanes::<32>(a, b, self.mean, self.term, at, first, second);
                at += 32;
            }
            while at + 4 <= width {
                lanes::<4>(a, b, self.mean, self.term, at, first, second);
                at += 4;
            }
            while at < width {
                lanes::<1>(a, b, self.mean, self.term, at, first, second);
                at += 1;
            }
        }
    }
}

/// Adds the terms of `N` columns from `at` on, accumulated in registers.
#[inline(always)]
fn lanes<const N: usize>(
    a: &[f32],
    b: &[f32],
    mean: &[f64],
    term: Term,
    at: usize,
    first: &mut [f64],
    second: &mut [f64],
) {
    let width = mean.len();
    let mut middle = [0f32; N];
    for i in 0..N {
        middle[i] = mean[at + i] as f32;
    }
    let (mut plain, mut product) = ([0f32; N], [0f32; N]);
    for (a, b) in a.chunks_exact(width).zip(b.chunks_exact(width)) {
        let (a, b) = (&a[at..at + N], &b[at..at + N]);
        for i in 0..N {
            let far = b[i] - middle[i];
            match term {
                Term::First => plain[i] += a[i],
                Term::Square => plain[i] += far * far,
                Term::Both => {
                    plain[i] += a[i];
                    product[i] += a[i] * far;
                }
            }
        }
    }
    for i in 0..N {
        first[at + i] += f64::from(plain[i]);
        second[at + i] += f64::from(product[i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::Serial;
    use crate::pool::Pool;

    /// Large offsets, so that a variance from sums of squares would lose all digits.
    fn matrix(rows: usize, width: usize) -> Vec<f32> {
        (0..rows * width).map(|i| 1000.0 * (i % width) as f32 + (i * 37 % 101) as f32 / 101.0).collect()
    }

    #[test]
    fn moments_are_those_of_the_definition_on_any_number_of_threads() {
        for (rows, width) in [(1, 1), (3, 5), (700, 67), (9000, 9)] {
            let x = matrix(rows, width);
            let (mean, variance) = moments(&Serial, width, &x);
            for column in 0..width {
                let values: Vec<f64> = x.iter().skip(column).step_by(width).map(|x| f64::from(*x)).collect();
                let exact = values.iter().sum::<f64>() / rows as f64;
                let square = values.iter().map(|x| (x - exact).powi(2)).sum::<f64>() / rows as f64;
                assert!((mean[column] - exact).abs() <= 1e-6 * exact.abs().max(1.0), "{rows}x{width}");
                assert!((variance[column] - square).abs() <= 1e-4, "{rows}x{width}: {}", variance[column]);
            }
            assert_eq!((mean, variance), moments(&*Pool::new(3).unwrap(), width, &x));
        }
        assert!(moments(&Serial, 2, &[]).0.iter().all(|mean| mean.is_nan()));
    }

    #[test]
    fn affine_adds_the_gradient_if_there_is_one() {
        let (x, dy) = ([1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 10.0]);
        let (mean, scale, shift, factor) = ([1.0, 2.0], [2.0, 3.0], [5.0, 7.0], [100.0, 1000.0]);
        let mut out = [0.0; 4];
        let plain = Affine { mean: &mean, scale: &scale, shift: &shift, gradient: None };
        plain.write(&Serial, &x, &mut out);
        assert_eq!(out, [5.0, 7.0, 9.0, 13.0]);
        Affine { gradient: Some((&factor, &dy)), ..plain }.write(&Serial, &x, &mut out);
        assert_eq!(out, [105.0, 7.0, 9.0, 10013.0]);
        let (sums, products) = gradient_sums(&Serial, 2, &dy, &x, &[1.0, 2.0]);
        assert_eq!((sums, products), (vec![1.0, 10.0], vec![0.0, 20.0]));
    }
}
