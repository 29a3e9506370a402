//! Batched matrix products of one shape.

use std::sync::atomic::{AtomicPtr, Ordering};

use super::{Epilogue, GemmElement, MatMut, MatRef, ShapeError, check};
use crate::parallel::{Parallel, Serial};

/// Grain size of the parallel loops, in multiply-adds.
const GRAIN: usize = 32 * 32 * 32;

/// `c[i] = a[i] * b[i]` for each `i`; `c` is a contiguous row-major `[batch, m, n]`.
///
/// All of `a` have one shape, and all of `b`. A matrix may appear more than once: this
/// broadcasts it over the batch.
pub fn batch_gemm<T: GemmElement>(
    par: &dyn Parallel,
    a: &[MatRef<'_, T>],
    b: &[MatRef<'_, T>],
    c: &mut [T],
    epilogue: Epilogue<'_, T>,
) -> Result<(), ShapeError> {
    if a.len() != b.len() {
        return Err(ShapeError(format!("{} matrices times {} matrices", a.len(), b.len())));
    }
    let (Some(first_a), Some(first_b)) = (a.first(), b.first()) else {
        return if c.is_empty() { Ok(()) } else { Err(ShapeError("no products for a result".into())) };
    };
    let (m, k, n) = (first_a.rows(), first_a.cols(), first_b.cols());
    for (a, b) in a.iter().zip(b) {
        check([a.rows(), a.cols()], b, [m, n], &epilogue)?;
    }
    let size = m.checked_mul(n);
    if size.and_then(|size| size.checked_mul(a.len())) != Some(c.len()) {
        return Err(ShapeError(format!("{} products of {m}x{n} in {} elements", a.len(), c.len())));
    }
    if c.is_empty() {
        return Ok(());
    }
    let work = m.saturating_mul(n).saturating_mul(k).max(1);
    if a.len() >= 2 * par.threads() || work <= GRAIN {
        each_on_one_thread(par, (GRAIN / work).max(1), a, b, c, epilogue);
    } else {
        for ((&a, &b), c) in a.iter().zip(b).zip(c.chunks_exact_mut(m * n)) {
            T::product(par, a.into(), b, MatMut::row_major(c, m, n)?, epilogue);
        }
    }
    Ok(())
}

fn each_on_one_thread<T: GemmElement>(
    par: &dyn Parallel,
    grain: usize,
    a: &[MatRef<'_, T>],
    b: &[MatRef<'_, T>],
    c: &mut [T],
    epilogue: Epilogue<'_, T>,
) {
    let (m, n) = (a[0].rows(), b[0].cols());
    assert_eq!(c.len(), a.len() * m * n);
    let c = AtomicPtr::new(c.as_mut_ptr());
    par.run_ranges(a.len(), grain, &|range| {
        for i in range {
            // SAFETY: `c` holds a product for each index, and ranges are disjoint, so this
            // is the only reference to the `i`th.
            let c =
                unsafe { std::slice::from_raw_parts_mut(c.load(Ordering::Relaxed).add(i * m * n), m * n) };
            let c = MatMut::row_major(c, m, n).expect("a slice of that very size");
            T::product(&Serial, a[i].into(), b[i], c, epilogue);
        }
    });
}
