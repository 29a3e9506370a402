//! Elementwise ops: one function of elements, applied over whole tensors, with broadcasting for two inputs.
//!
//! The planning (shapes, broadcasting, memory) is plain code compiled once per type; only the runs over contiguous
//! elements are compiled per op.

use crate::broadcast::BroadcastPlan;
use crate::prelude::*;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Mutex;
use thalweg_math::simd::{Loop, wide};

/// Grain size of parallel loops: enough work to amortise scheduling.
pub const GRAIN: usize = 32 * 1024;

/// Output 0 = `f` of each element of input 0.
pub fn unary<T: Element, O: Element>(c: &mut OpCall<'_>, f: impl Fn(T) -> O + Copy + Sync) -> Result<()> {
    unary_tensor(c, &|x: &[T], y: &mut [O]| tile1(x, y, f))
}

type UnaryRun<'a, T, O> = &'a (dyn Fn(&[T], &mut [O]) + Sync);

/// As `unary`, with the function of a run of elements given: for vectorised implementations.
pub fn unary_tensor<T: Element, O: Element>(c: &mut OpCall<'_>, run: UnaryRun<'_, T, O>) -> Result<()> {
    if let Some(x) = c.input(0)?.as_scalar::<T>() {
        let mut y = [O::default()];
        run(&[x], &mut y);
        c.set(0, Tensor::scalar(y[0]));
        return Ok(());
    }
    let shape = c.shape(0)?.clone();
    let par = c.par();
    if T::DTYPE == O::DTYPE
        && let Some(mut t) = c.reuse(0, O::DTYPE, &shape)
    {
        for_chunks(par, t.as_mut_slice::<O>()?, &|_, out| {
            in_tiles(out, |old: &[O], _, out| run(same_type(old), out))
        });
        c.set(0, t);
        return Ok(());
    }
    let mut out = Tensor::uninit(O::DTYPE, shape)?;
    let x = c.slice::<T>(0)?;
    for_chunks(par, out.as_mut_slice::<O>()?, &|r, out| run(&x[r], out));
    c.set(0, out);
    Ok(())
}

/// Output 0 = `f` of the elements of inputs 0 and 1, broadcast together.
pub fn binary<T: Element, O: Element>(c: &mut OpCall<'_>, f: impl Fn(T, T) -> O + Copy + Sync) -> Result<()> {
    binary_tensor(
        c,
        &Runs {
            both: &|a: &[T], b: &[T], out: &mut [O]| tile2(a, b, out, f),
            right_one: &|a: &[T], b: T, out: &mut [O]| tile1(a, out, |a| f(a, b)),
            left_one: &|a: T, b: &[T], out: &mut [O]| tile1(b, out, |b| f(a, b)),
        },
    )
}

type BinarySlices<T> = fn(&[T], &[T], &mut [T]);

/// As `binary`, with a vectorised function of slices given.
pub fn binary_slices<T: Element>(c: &mut OpCall<'_>, run: BinarySlices<T>) -> Result<()> {
    // Against a single element: a tile of copies of it.
    let in_tiles = |one: T, n: usize, run: &mut dyn FnMut(&[T], Range<usize>)| {
        let ones = [one; TILE];
        for start in (0..n).step_by(TILE) {
            let end = n.min(start + TILE);
            run(&ones[..end - start], start..end);
        }
    };
    binary_tensor(
        c,
        &Runs {
            both: &run,
            right_one: &|a: &[T], b: T, out: &mut [T]| {
                in_tiles(b, a.len(), &mut |b, range| run(&a[range.clone()], b, &mut out[range]))
            },
            left_one: &|a: T, b: &[T], out: &mut [T]| {
                in_tiles(a, b.len(), &mut |a, range| run(a, &b[range.clone()], &mut out[range]))
            },
        },
    )
}

/// As `binary`, for ops whose inputs must have the same shape.
pub fn binary_alike<T: Element, O: Element>(
    c: &mut OpCall<'_>,
    f: impl Fn(T, T) -> O + Copy + Sync,
) -> Result<()> {
    let (a, b) = (c.shape(0)?, c.shape(1)?);
    if a != b {
        return Err(invalid!("Inputs to {} must have the same shape, got {a} and {b}", c.node.op));
    }
    binary(c, f)
}

/// A derivative times `dy`: 0 where `dy` is 0, even if the derivative is infinite or NaN (as in TensorFlow).
#[inline]
pub fn if_any<T: Number + PartialEq>(dy: T, product: T) -> T {
    if dy == T::ZERO { T::ZERO } else { product }
}

/// `f` of the strings of inputs 0 and 1, broadcast together.
pub fn binary_strings<O>(c: &OpCall<'_>, f: impl Fn(&Bytes, &Bytes) -> Result<O>) -> Result<(Shape, Vec<O>)> {
    let plan = BroadcastPlan::new(c.shape(0)?, c.shape(1)?)?;
    let (a, b) = (c.input(0)?.strings()?, c.input(1)?.strings()?);
    let (row, steps) = (plan.row(), plan.row_steps());
    let mut walk = plan.walk();
    let mut out = reserve::with_capacity(plan.shape().elements())?;
    while out.len() < plan.shape().elements() {
        let (i, j) = walk.next_offsets();
        for k in 0..row {
            out.push(f(&a[i + k * steps.0], &b[j + k * steps.1])?);
        }
    }
    Ok((plan.shape().clone(), out))
}

/// The broadcast loops: both inputs vary, or one is a single element.
#[allow(clippy::type_complexity)]
struct Runs<'a, T, O> {
    both: &'a (dyn Fn(&[T], &[T], &mut [O]) + Sync),
    right_one: &'a (dyn Fn(&[T], T, &mut [O]) + Sync),
    left_one: &'a (dyn Fn(T, &[T], &mut [O]) + Sync),
}

fn binary_tensor<T: Element, O: Element>(c: &mut OpCall<'_>, runs: &Runs<'_, T, O>) -> Result<()> {
    if let (Some(a), Some(b)) = (c.input(0)?.as_scalar::<T>(), c.input(1)?.as_scalar::<T>()) {
        let mut z = [O::default()];
        (runs.both)(&[a], &[b], &mut z);
        c.set(0, Tensor::scalar(z[0]));
        return Ok(());
    }
    let plan = BroadcastPlan::new(c.shape(0)?, c.shape(1)?)?;
    let par = c.par();
    if T::DTYPE == O::DTYPE && plan.is_simple() {
        if let Some(mut t) = c.reuse(0, O::DTYPE, plan.shape()) {
            let b = c.slice::<T>(1)?;
            for_chunks(par, t.as_mut_slice::<O>()?, &|r, out| {
                in_tiles(out, |old: &[O], at, out| match b {
                    [one] => (runs.right_one)(same_type(old), *one, out),
                    _ => (runs.both)(same_type(old), &b[r.start + at..][..out.len()], out),
                })
            });
            c.set(0, t);
            return Ok(());
        }
        if let Some(mut t) = c.reuse(1, O::DTYPE, plan.shape()) {
            let a = c.slice::<T>(0)?;
            for_chunks(par, t.as_mut_slice::<O>()?, &|r, out| {
                in_tiles(out, |old: &[O], at, out| match a {
                    [one] => (runs.left_one)(*one, same_type(old), out),
                    _ => (runs.both)(&a[r.start + at..][..out.len()], same_type(old), out),
                })
            });
            c.set(0, t);
            return Ok(());
        }
    }
    if T::DTYPE == O::DTYPE
        && !plan.is_simple()
        && let Some(mut t) = c.reuse(0, O::DTYPE, plan.shape())
    {
        replace_rows(par, &plan, t.as_mut_slice::<O>()?, c.slice::<T>(1)?, runs);
        c.set(0, t);
        return Ok(());
    }
    let mut out = Tensor::uninit(O::DTYPE, plan.shape().clone())?;
    let (a, b) = (c.slice::<T>(0)?, c.slice::<T>(1)?);
    let values = out.as_mut_slice::<O>()?;
    if plan.is_simple() {
        for_chunks(par, values, &|r, out| match (a, b) {
            (_, [one]) if a.len() > 1 => (runs.right_one)(&a[r], *one, out),
            ([one], _) if b.len() > 1 => (runs.left_one)(*one, &b[r], out),
            _ => (runs.both)(&a[r.clone()], &b[r], out),
        });
    } else {
        let row = plan.row().max(1);
        for_chunks_of(par, values, row, GRAIN.div_ceil(row), &|rows, out| {
            broadcast_rows(&plan, rows.start, a, b, out, runs)
        });
    }
    c.set(0, out);
    Ok(())
}

/// The general case: row by row along the innermost dimension, from row number `first` on.
fn broadcast_rows<T: Element, O: Element>(
    plan: &BroadcastPlan,
    first: usize,
    a: &[T],
    b: &[T],
    out: &mut [O],
    runs: &Runs<'_, T, O>,
) {
    let row = plan.row();
    if row == 0 {
        return;
    }
    let (a_step, b_step) = plan.row_steps();
    let mut walk = plan.walk_from(first);
    for out in out.chunks_mut(row) {
        let (i, j) = walk.next_offsets();
        match (a_step, b_step) {
            (1, 1) => (runs.both)(&a[i..i + row], &b[j..j + row], out),
            (1, _) => (runs.right_one)(&a[i..i + row], b[j], out),
            (_, 1) => (runs.left_one)(a[i], &b[j..j + row], out),
            _ => (runs.both)(&[a[i]], &[b[j]], &mut out[..1]),
        }
        if a_step == 0 && b_step == 0 {
            let first = out[0];
            out.fill(first);
        }
    }
}

/// As `broadcast_rows`, but overwrites the first input: as in adding a bias to a matrix.
fn replace_rows<T: Element, O: Element>(
    par: &dyn thalweg_math::parallel::Parallel,
    plan: &BroadcastPlan,
    values: &mut [O],
    b: &[T],
    runs: &Runs<'_, T, O>,
) {
    let (row, step) = (plan.row().max(1), plan.row_steps().1);
    for_chunks_of(par, values, row, GRAIN.div_ceil(row), &|rows, values| {
        let mut walk = plan.walk_from(rows.start);
        for values in values.chunks_mut(row) {
            let (_, j) = walk.next_offsets();
            in_tiles(values, |old: &[O], at, out| match step {
                1 => (runs.both)(same_type(old), &b[j + at..][..out.len()], out),
                _ => (runs.right_one)(same_type(old), b[j], out),
            });
        }
    });
}

/// Splits a slice into disjoint chunks over threads.
pub fn for_chunks<O: Send>(
    par: &dyn thalweg_math::parallel::Parallel,
    out: &mut [O],
    body: &(dyn Fn(Range<usize>, &mut [O]) + Sync),
) {
    for_chunks_of(par, out, 1, GRAIN, body)
}

/// As `for_chunks`, with the slice in items of `item` elements and at least `grain` items to a chunk. The range is in items.
pub fn for_chunks_of<O: Send>(
    par: &dyn thalweg_math::parallel::Parallel,
    out: &mut [O],
    item: usize,
    grain: usize,
    body: &(dyn Fn(Range<usize>, &mut [O]) + Sync),
) {
    let items = out.len() / item.max(1);
    let grain = grain.max(1);
    if items <= grain || par.threads() == 1 {
        if !out.is_empty() {
            body(0..items, out);
        }
        return;
    }
    // Each chunk is taken by the one range that covers it; the locks are never contended.
    let chunks = scratch::collect(out.chunks_mut(grain * item).map(Mutex::new));
    par.run_ranges(chunks.len(), 1, &|range| {
        for i in range {
            let mut chunk = thalweg_core::sync::lock(&chunks[i]);
            let start = i * grain;
            body(start..start + chunk.len() / item, &mut chunk);
        }
    });
}

/// `out = f(slice, x)` for elements in runs of `run`, which belong to the slices of an axis in turn: each slice has values of its own,
/// such as the scale of a channel.
pub fn for_slices<P: Sync, T: Element, O: Send>(
    par: &dyn thalweg_math::parallel::Parallel,
    (slices, run): (&[P], usize),
    x: &[T],
    out: &mut [O],
    f: impl Fn(&P, T) -> O + Sync,
) {
    let (count, run) = (slices.len(), run.max(1));
    match slices {
        [] => {}
        [one] => for_chunks(par, out, &|range, out| tile1(&x[range], out, |x| f(one, x))),
        // The last axis: without a division for each element.
        _ if run == 1 => for_chunks_of(par, out, count, GRAIN.div_ceil(count), &|rows, out| {
            let x = x[rows.start * count..].chunks_exact(count);
            for (x, out) in x.zip(out.chunks_exact_mut(count)) {
                x.iter().zip(out).zip(slices).for_each(|((x, out), slice)| *out = f(slice, *x));
            }
        }),
        _ => for_chunks_of(par, out, run, GRAIN.div_ceil(run), &|runs, out| {
            let x = x[runs.start * run..].chunks_exact(run);
            for ((i, x), out) in runs.zip(x).zip(out.chunks_exact_mut(run)) {
                let slice = &slices[i % count];
                tile1(x, out, |x| f(slice, x));
            }
        }),
    }
}

/// Tile size of the scratch copy when a result overwrites its input.
const TILE: usize = 256;

/// Calls `run(old values, offset, new values)` tile by tile. The copy keeps input and output apart, so that the
/// run's loop vectorises; it stays in the first-level cache.
fn in_tiles<O: Element>(out: &mut [O], run: impl Fn(&[O], usize, &mut [O])) {
    let mut old = [O::default(); TILE];
    for (i, chunk) in out.chunks_mut(TILE).enumerate() {
        let old = &mut old[..chunk.len()];
        old.copy_from_slice(chunk);
        run(old, i * TILE, chunk);
    }
}

/// A slice of `O` as one of `T` where both are the same type (same dtype).
fn same_type<T: Element, O: Element>(x: &[O]) -> &[T] {
    let any: &dyn std::any::Any = &T::default();
    debug_assert!(any.is::<O>());
    if T::DTYPE != O::DTYPE {
        return &[];
    }
    // SAFETY: each dtype belongs to exactly one element type, so T and O are the same type.
    unsafe { std::slice::from_raw_parts(x.as_ptr().cast::<T>(), x.len()) }
}

/// Runs shorter than this are not worth a choice of instruction sets.
const WIDE: usize = 32;

/// The types whose loops are compiled for AVX2, too: those of most programs.
const fn is_wide<T: Element>() -> bool {
    matches!(T::DTYPE, DataType::Float | DataType::Int32)
}

struct Tile1<'a, T, O, F>(&'a [T], &'a mut [O], F);

impl<T: Copy, O, F: Fn(T) -> O> Loop for Tile1<'_, T, O, F> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (x, y) in self.0.iter().zip(self.1) {
            *y = (self.2)(*x);
        }
    }
}

struct Tile2<'a, T, O, F>(&'a [T], &'a [T], &'a mut [O], F);

impl<T: Copy, O, F: Fn(T, T) -> O> Loop for Tile2<'_, T, O, F> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for ((x, y), z) in self.0.iter().zip(self.1).zip(self.2) {
            *z = (self.3)(*x, *y);
        }
    }
}

/// The loop of a one-input tile.
#[inline]
pub fn tile1<T: Element, O>(x: &[T], y: &mut [O], f: impl Fn(T) -> O) {
    let work = Tile1(x, y, f);
    if is_wide::<T>() && x.len() >= WIDE { wide(work) } else { work.run::<false>() }
}

/// The loop of a two-input tile.
#[inline]
pub fn tile2<T: Element, O>(x: &[T], y: &[T], z: &mut [O], f: impl Fn(T, T) -> O) {
    let work = Tile2(x, y, z, f);
    if is_wide::<T>() && x.len() >= WIDE { wide(work) } else { work.run::<false>() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_math::parallel::Serial;

    #[test]
    fn slices_of_an_axis_have_their_own_values() {
        for (slices, run) in [(1, 7), (3, 1), (3, 2), (5, 40), (4, 0)] {
            let values: Vec<i32> = (0..slices).map(|s| 100 * s).collect();
            let x: Vec<i32> = (0..3 * slices * run as i32).collect();
            let mut out = vec![0; x.len()];
            for_slices(&Serial, (&values, run), &x, &mut out, |value, x| value + x);
            for (i, (x, out)) in x.iter().zip(out).enumerate() {
                assert_eq!(out, x + values[i / run % values.len()], "{slices} slices, runs of {run}, at {i}");
            }
        }
    }

    #[test]
    fn long_and_short_runs_are_computed_alike() {
        let x: Vec<f32> = (0..300).map(|i| i as f32 * 0.37 - 50.0).collect();
        for n in [1, WIDE - 1, WIDE, x.len()] {
            let (mut one, mut two) = (vec![0.0; n], vec![0.0; n]);
            tile1(&x[..n], &mut one, |x: f32| x * 3.0 + 1.0);
            tile2(&x[..n], &x[..n], &mut two, |x: f32, y| x * y + 1.0);
            for i in 0..n {
                assert_eq!((one[i], two[i]), (x[i] * 3.0 + 1.0, x[i] * x[i] + 1.0));
            }
        }
    }
}
