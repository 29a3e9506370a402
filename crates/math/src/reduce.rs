//! Reductions over any axes of a row-major array.
//!
//! A [`Plan`] has the shape and the reduced axes; a [`Reducer`] combines the
//! elements:
//!
//! ```
//! use thalweg_math::parallel::Serial;
//! use thalweg_math::reduce::{Plan, Sum, reduce};
//!
//! let plan = Plan::new(&[2, 3], &[false, true]);
//! let mut sums = [0.0; 2];
//! reduce(&Serial, &plan, &Sum, &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], &mut sums);
//! assert_eq!(sums, [6.0, 15.0]);
//! ```
//!
//! The order of combination depends on the shape alone, never on the number of
//! threads, so results are reproducible to the last bit. Summation is pairwise, so
//! that the rounding error of a long f32 sum stays small.

mod arg;
mod columns;
mod log_sum_exp;
mod pairwise;
mod plan;
mod reducers;
mod rows;
mod scan;

pub use arg::{arg_max, arg_min};
pub use log_sum_exp::LogSumExp;
pub use plan::Plan;
pub use reducers::{All, Any, Element, Max, Mean, Min, Number, Ordered, Prod, Reducer, Sum};
pub use scan::{Scan, scan};

use crate::parallel::Parallel;
use plan::Inner;

/// Elements combined by one task before it may be split further. Part of the
/// order of combination: changing it changes last bits.
const CHUNK: usize = 1 << 16;

/// With this many outputs, no output is split over threads.
const ENOUGH_TASKS: usize = 64;

/// Reduces `input` as planned into `out`.
pub fn reduce<T: Copy + Sync, R: Reducer<T>>(
    parallel: &dyn Parallel,
    plan: &Plan,
    reducer: &R,
    input: &[T],
    out: &mut [R::Out],
) {
    assert_eq!((input.len(), out.len()), (plan.input_len(), plan.output_len()));
    if input.is_empty() {
        out.fill_with(|| reducer.finish(reducer.init()));
        return;
    }
    match plan.inner {
        Inner::Reduced { .. } => rows::reduce(parallel, plan, reducer, input, out),
        Inner::Kept { .. } => columns::reduce(parallel, plan, reducer, input, out),
    }
}
