//! Transposition of row-major arrays by any permutation of axes.
//!
//! ```
//! use thalweg_math::{parallel::Serial, transpose::transpose};
//!
//! let mut out = [0; 6];
//! transpose(&Serial, &[2, 3], &[1, 0], &[1, 2, 3, 4, 5, 6], &mut out);
//! assert_eq!(out, [1, 4, 2, 5, 3, 6]);
//! ```

mod copy;
mod plan;
mod tile;

use crate::parallel::Parallel;
use bytemuck::Pod;
use plan::Plan;

/// Axis `n` of `out` is axis `perm[n]` of `input`, which has this shape.
pub fn transpose<T: Pod>(
    parallel: &dyn Parallel,
    shape: &[usize],
    perm: &[usize],
    input: &[T],
    out: &mut [T],
) {
    let (input, out) = (bytemuck::cast_slice(input), bytemuck::cast_slice_mut(out));
    transpose_bytes(parallel, size_of::<T>(), shape, perm, input, out);
}

/// As [`transpose`], for elements of `size` bytes.
pub fn transpose_bytes(
    parallel: &dyn Parallel,
    size: usize,
    shape: &[usize],
    perm: &[usize],
    input: &[u8],
    out: &mut [u8],
) {
    let plan = Plan::new(size, shape, perm);
    assert_eq!((input.len(), out.len()), (plan.bytes, plan.bytes));
    if plan.bytes == 0 {
        return;
    }
    match plan.size {
        1 => copy::elements::<1, 128>(parallel, &plan, input, out),
        2 => copy::elements::<2, 64>(parallel, &plan, input, out),
        3 => copy::elements::<3, 32>(parallel, &plan, input, out),
        4 => copy::elements::<4, 64>(parallel, &plan, input, out),
        6 => copy::elements::<6, 32>(parallel, &plan, input, out),
        8 => copy::elements::<8, 32>(parallel, &plan, input, out),
        12 => copy::elements::<12, 16>(parallel, &plan, input, out),
        16 => copy::elements::<16, 16>(parallel, &plan, input, out),
        _ => copy::runs(parallel, &plan, input, out),
    }
}
