//! Transforms of many vectors on all threads, a few at a time as lanes.

use super::{Direction, Plan, RealPlan};
use crate::decompose::{RealScalar, Scalar};
use crate::parallel::Parallel;
use crate::scratch;
use crate::shared::SharedMut;

/// Elements that one thread transforms at least.
const GRAIN: usize = 1 << 12;
/// Vectors transformed together, so that the loops of a pass are long from the first on.
const LANES: usize = 16;
/// Elements of lanes that are transformed together at most: they and as many of scratch memory stay in the cache.
const CACHED: usize = 1 << 15;

/// Real numbers with transforms; compiled here for each.
pub trait FourierReal: RealScalar {
    #[doc(hidden)]
    fn transform(par: &dyn Parallel, direction: Direction, data: &mut [Self::Complex], sizes: [usize; 3]);
    #[doc(hidden)]
    fn real(par: &dyn Parallel, x: &[Self], len: usize, out: &mut [Self::Complex]);
    #[doc(hidden)]
    fn inverse_real(par: &dyn Parallel, spectra: &[Self::Complex], len: usize, out: &mut [Self]);
}

macro_rules! compiled {
    ($($t:ty),*) => {$(
        impl FourierReal for $t {
            fn transform(par: &dyn Parallel, direction: Direction, data: &mut [Self::Complex], sizes: [usize; 3]) {
                along_axis::<$t>(par, direction, data, sizes)
            }
            fn real(par: &dyn Parallel, x: &[Self], len: usize, out: &mut [Self::Complex]) {
                real_rows::<$t>(par, x, len, out)
            }
            fn inverse_real(par: &dyn Parallel, spectra: &[Self::Complex], len: usize, out: &mut [Self]) {
                inverse_real_rows::<$t>(par, spectra, len, out)
            }
        }
    )*};
}

compiled!(f32, f64);

/// Transforms along the middle dimension of `[outer, len, inner]`, in place.
pub fn transform<R: FourierReal>(
    par: &dyn Parallel,
    direction: Direction,
    data: &mut [R::Complex],
    sizes: [usize; 3],
) {
    R::transform(par, direction, data, sizes)
}

/// The first `len / 2 + 1` elements of the spectra of rows of real numbers.
pub fn real<R: FourierReal>(par: &dyn Parallel, x: &[R], len: usize, out: &mut [R::Complex]) {
    R::real(par, x, len, out)
}

/// The rows of `len` real numbers whose spectra begin with these elements; not divided by the length.
pub fn inverse_real<R: FourierReal>(par: &dyn Parallel, spectra: &[R::Complex], len: usize, out: &mut [R]) {
    R::inverse_real(par, spectra, len, out)
}

/// How many vectors of this length are transformed together.
fn lanes(len: usize) -> usize {
    (CACHED / len.max(1)).clamp(1, LANES)
}

fn along_axis<R: RealScalar>(
    par: &dyn Parallel,
    direction: Direction,
    data: &mut [R::Complex],
    [outer, len, inner]: [usize; 3],
) {
    assert_eq!(data.len(), outer * len * inner);
    if len < 2 || data.is_empty() {
        return;
    }
    let plan = Plan::<R>::new(len);
    let lanes = lanes(len);
    if inner == 1 {
        return rows(par, &plan, direction, data, lanes);
    }
    let blocks = inner.div_ceil(lanes);
    let shared = SharedMut::new(data);
    par.run_ranges(outer * blocks, GRAIN.div_ceil(len * lanes), &|range| {
        let mut x = scratch::filled(len * lanes, R::Complex::ZERO);
        let mut work = scratch::filled(plan.work_len() * lanes, R::Complex::ZERO);
        for i in range {
            let (o, first) = (i / blocks, i % blocks * lanes);
            let width = lanes.min(inner - first);
            // SAFETY: a block has its own columns of its own matrix.
            let row = |k: usize| unsafe {
                let start = (o * len + k) * inner + first;
                shared.range(start..start + width)
            };
            let x = &mut x[..len * width];
            x.chunks_exact_mut(width).enumerate().for_each(|(k, x)| x.copy_from_slice(row(k)));
            plan.run_with(direction, x, &mut work, width);
            x.chunks_exact(width).enumerate().for_each(|(k, x)| row(k).copy_from_slice(x));
        }
    });
}

fn rows<R: RealScalar>(
    par: &dyn Parallel,
    plan: &Plan<R>,
    direction: Direction,
    data: &mut [R::Complex],
    lanes: usize,
) {
    let len = plan.len;
    in_groups(par, data, len, lanes, &|_, rows| {
        let width = rows.len() / len;
        let mut work = scratch::filled(plan.work_len() * width, R::Complex::ZERO);
        if width == 1 {
            return plan.run_with(direction, rows, &mut work, 1);
        }
        let mut x = scratch::filled(rows.len(), R::Complex::ZERO);
        for (l, row) in rows.chunks_exact(len).enumerate() {
            x.iter_mut().skip(l).step_by(width).zip(row).for_each(|(x, y)| *x = *y);
        }
        plan.run_with(direction, &mut x, &mut work, width);
        for (l, row) in rows.chunks_exact_mut(len).enumerate() {
            row.iter_mut().zip(x.iter().skip(l).step_by(width)).for_each(|(y, x)| *y = *x);
        }
    });
}

/// Calls `work` with groups of up to `lanes` rows, and the number of the first.
fn in_groups<T: Send>(
    par: &dyn Parallel,
    data: &mut [T],
    len: usize,
    lanes: usize,
    work: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    let rows = data.len() / len;
    let shared = SharedMut::new(data);
    par.run_ranges(rows.div_ceil(lanes), GRAIN.div_ceil(len * lanes), &|range| {
        for group in range {
            let (first, end) = (group * lanes, ((group + 1) * lanes).min(rows));
            // SAFETY: a group has its own rows.
            work(first, unsafe { shared.range(first * len..end * len) });
        }
    });
}

fn real_rows<R: RealScalar>(par: &dyn Parallel, x: &[R], len: usize, out: &mut [R::Complex]) {
    if len == 0 || x.is_empty() {
        return;
    }
    let plan = RealPlan::<R>::new(len);
    assert_eq!(out.len() / plan.kept(), x.len() / len);
    in_groups(par, out, plan.kept(), lanes(len), &|first, out| {
        let count = out.len() / plan.kept();
        let mut work = scratch::filled(plan.work_len() * count, R::Complex::ZERO);
        plan.forward(&x[first * len..(first + count) * len], out, &mut work);
    });
}

fn inverse_real_rows<R: RealScalar>(par: &dyn Parallel, spectra: &[R::Complex], len: usize, out: &mut [R]) {
    if len == 0 || out.is_empty() {
        return;
    }
    let plan = RealPlan::<R>::new(len);
    let kept = plan.kept();
    assert_eq!(spectra.len() / kept, out.len() / len);
    in_groups(par, out, len, lanes(len), &|first, out| {
        let count = out.len() / len;
        let mut work = scratch::filled(plan.work_len() * count, R::Complex::ZERO);
        plan.inverse(&spectra[first * kept..(first + count) * kept], out, &mut work);
    });
}
