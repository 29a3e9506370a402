//! Shared by all updates: the scalar inputs, the locks of the variable and its slots, and the loops over elements, dense in
//! chunks over threads, sparse row by row.

use super::forms::Optimizer;
use crate::elementwise::GRAIN;
use crate::indices::positions;
use crate::prelude::*;
use crate::state::target::{forward_ref, initialised, variable_shape};
use std::sync::Mutex;
use thalweg_core::sync::lock;
use thalweg_math::parallel::Parallel;
use thalweg_math::prefetch;
use thalweg_math::simd::{Loop, widest};

/// One call of an update of `N` variables: the trained one and its slots, which come first. The gradient is input `grad`, in
/// sparse forms followed by the rows it is for; all others are scalars.
#[derive(Clone, Copy)]
pub struct Update<const N: usize> {
    grad: usize,
    /// The scalar arguments before and after the gradient.
    scalars: [&'static [&'static str]; 2],
    pub sparse: bool,
}

/// Changes the elements of the variables by those of the gradient, in one pass.
type Change<'a, T, const N: usize> = &'a (dyn Fn([&mut [T]; N], &[T]) + Sync);

impl<const N: usize> Update<N> {
    pub fn of<O: Optimizer>(c: &OpCall<'_>) -> Self {
        const { assert!(N == O::VARIABLES) };
        let scalars = [O::SCALARS, O::SCALARS_AFTER_GRAD];
        Update { grad: O::GRAD_INPUT, scalars, sparse: is_sparse(c.attrs()) }
    }

    /// The first `K` scalars, in the order of the inputs.
    pub fn scalars<T: Element, const K: usize>(&self, c: &OpCall<'_>) -> Result<[T; K]> {
        let mut values = [T::default(); K];
        let inputs = scalar_inputs(c.inputs.len(), N, self.grad, self.sparse);
        read_scalars(c, &mut inputs.zip(self.scalars.into_iter().flatten().copied()), &mut values)?;
        Ok(values)
    }

    /// Changes each element of the variables by the element of the gradient that belongs to it: `rule` maps their values to
    /// the new ones. Nothing is changed if the shapes do not fit or an index is out of range.
    pub fn apply<T: Element>(
        self,
        c: &mut OpCall<'_>,
        rule: impl Fn([T; N], T) -> [T; N] + Sync + Copy,
    ) -> Result<()> {
        self.apply_change(c, &|vars, grad| widest(Each { vars, grad, rule }))
    }

    fn apply_change<T: Element>(self, c: &mut OpCall<'_>, change: Change<'_, T, N>) -> Result<()> {
        let mut vars = Vec::with_capacity(N);
        for i in 0..N {
            vars.push(initialised(c, i)?.0);
        }
        let (grad, par) = (c.input(self.grad)?, c.par());
        let rows = if self.sparse { Some(c.input(self.grad + 1)?) } else { None };
        let deltas = grad.as_slice::<T>()?;
        with_values(&vars, &mut |values: &mut [Tensor; N]| {
            same_shapes::<T>(&vars, values)?;
            let places = match rows {
                Some(rows) => Some(rows_of(values[0].shape(), grad.shape(), rows)?),
                None => {
                    dense_shape(values[0].shape(), grad.shape())?;
                    None
                }
            };
            let mut slices: [&mut [T]; N] = std::array::from_fn(|_| Default::default());
            for (slice, value) in slices.iter_mut().zip(values) {
                *slice = value.as_mut_slice::<T>()?;
            }
            match places {
                None => in_chunks(par, slices, deltas, change),
                Some(places) => in_rows(par, &places, slices, deltas, change),
            }
            Ok(())
        })?;
        forward_ref(c, vars.swap_remove(0));
        Ok(())
    }
}

fn is_sparse(attrs: &Attrs) -> bool {
    attrs.get("Tindices").is_some()
}

/// Which of the inputs are scalars.
fn scalar_inputs(inputs: usize, variables: usize, grad: usize, sparse: bool) -> impl Iterator<Item = usize> {
    (variables..inputs).filter(move |i| *i != grad && !(sparse && *i == grad + 1))
}

fn read_scalars<T: Element>(
    c: &OpCall<'_>,
    inputs: &mut dyn Iterator<Item = (usize, &str)>,
    values: &mut [T],
) -> Result<()> {
    for ((i, name), value) in inputs.zip(values) {
        let t = c.input(i)?;
        if !t.shape().is_scalar() {
            let name = name.split(':').next().unwrap_or_default();
            return Err(invalid!("{name} is not a scalar: {}", t.shape()));
        }
        *value = t.to_scalar()?;
    }
    Ok(())
}

fn same_shapes<T: Element>(vars: &[Arc<Variable>], values: &[Tensor]) -> Result<()> {
    let shape = values[0].shape();
    for (v, value) in vars.iter().zip(values) {
        value.as_slice::<T>()?;
        if value.shape() != shape {
            let first = &vars[0].name;
            return Err(invalid!(
                "{first} and {} do not have the same shape{shape} {}",
                v.name,
                value.shape()
            ));
        }
    }
    Ok(())
}

fn dense_shape(var: &Shape, grad: &Shape) -> Result<()> {
    if var != grad {
        return Err(invalid!("var and grad do not have the same shape{var} {grad}"));
    }
    Ok(())
}

/// The row indices of a sparse gradient, validated.
fn rows_of(var: &Shape, grad: &Shape, rows: &Tensor) -> Result<Vec<usize>> {
    let Some((height, rest)) = var.split_first() else {
        return Err(invalid!("var must be at least 1 dimensional"));
    };
    if rows.rank() != 1 {
        return Err(invalid!("indices must be one-dimensional, got shape {}", rows.shape()));
    }
    let Some((count, row)) = grad.split_first() else {
        return Err(invalid!("grad must have a row for each of the indices, got a scalar"));
    };
    if row != rest {
        return Err(invalid!("var and grad must match in all dimensions but the first: {var} and {grad}"));
    }
    if *count != rows.elements() {
        return Err(invalid!(
            "grad must be the same size as indices in the first dimension: {grad} for {} indices",
            rows.elements()
        ));
    }
    positions(rows, *height)
}

/// Elements per block: those of all variables are read, then all are written, so that the compiler need not check
/// whether variables alias. One element at a time was not vectorised.
const LANES: usize = 16;

/// The loop over elements. One pass over memory, vectorised. The rule owns its scalars: a reference to them
/// might alias what is written.
struct Each<'a, T, F, const N: usize> {
    vars: [&'a mut [T]; N],
    grad: &'a [T],
    rule: F,
}

impl<T: Element, F: Fn([T; N], T) -> [T; N], const N: usize> Loop for Each<'_, T, F, N> {
    type Output = ();
    const WIDE: bool = matches!(T::DTYPE, DataType::Float | DataType::Double);

    #[inline(always)]
    fn run<const FMA: bool>(mut self) {
        let (rule, n) = (self.rule, self.grad.len());
        if !Self::WIDE {
            for (i, grad) in self.grad.iter().enumerate() {
                let changed = rule(self.vars.each_ref().map(|v| v[i]), *grad);
                for (var, changed) in self.vars.iter_mut().zip(changed) {
                    var[i] = changed;
                }
            }
            return;
        }
        if N == 1 {
            // A single variable has no aliases, and vectorises better without blocks.
            for var in self.vars {
                for (value, grad) in var.iter_mut().zip(self.grad) {
                    *value = rule([*value; N], *grad)[0];
                }
            }
            return;
        }
        let (blocks, tail) = self.grad.as_chunks::<LANES>();
        let vars = self.vars.map(|v| v[..n].as_chunks_mut::<LANES>());
        for (b, grad) in blocks.iter().enumerate() {
            let old: [[T; LANES]; N] = std::array::from_fn(|k| vars[k].0[b]);
            let mut new = old;
            for lane in 0..LANES {
                let changed = rule(std::array::from_fn(|k| old[k][lane]), grad[lane]);
                for k in 0..N {
                    new[k][lane] = changed[k];
                }
            }
            for k in 0..N {
                vars[k].0[b] = new[k];
            }
        }
        for (i, grad) in tail.iter().enumerate() {
            let changed = rule(std::array::from_fn(|k| vars[k].1[i]), *grad);
            for k in 0..N {
                vars[k].1[i] = changed[k];
            }
        }
    }
}

fn in_chunks<T: Element, const N: usize>(
    par: &dyn Parallel,
    vars: [&mut [T]; N],
    grad: &[T],
    change: Change<'_, T, N>,
) {
    if grad.len() <= GRAIN || par.threads() == 1 {
        return change(vars, grad);
    }
    // Each chunk belongs to one range; the locks are never contended.
    let mut parts = vars.map(|v| v.chunks_mut(GRAIN));
    let chunk = |g| Mutex::new((std::array::from_fn(|k| parts[k].next().unwrap_or_default()), g));
    let chunks: Vec<Mutex<([&mut [T]; N], &[T])>> = scratch::collect(grad.chunks(GRAIN).map(chunk));
    par.run_ranges(chunks.len(), 1, &|range| {
        for chunk in &chunks[range] {
            let (vars, grad) = &mut *lock(chunk);
            change(vars.each_mut().map(|v| &mut **v), grad);
        }
    });
}

/// Rows in sequence, so that a duplicate row is updated twice, in order. Each thread has a band
/// of rows, and scans the indices for them: cache misses dominate.
fn in_rows<T: Element, const N: usize>(
    par: &dyn Parallel,
    places: &[usize],
    vars: [&mut [T]; N],
    grad: &[T],
    change: Change<'_, T, N>,
) {
    let width = grad.len() / places.len().max(1);
    if width == 0 {
        return;
    }
    let rows = vars[0].len() / width;
    let bands = if grad.len() < SPREAD { 1 } else { par.threads().min(rows).max(1) };
    let height = rows.div_ceil(bands);
    let mut parts = vars.map(|v| v.chunks_mut(height * width));
    let parts: Vec<Mutex<[&mut [T]; N]>> = (0..bands)
        .map(|_| Mutex::new(std::array::from_fn(|k| parts[k].next().unwrap_or_default())))
        .collect();
    par.run_ranges(bands, 1, &|range| {
        for band in range {
            // Used by one thread only.
            let vars = &mut *lock(&parts[band]);
            for (i, (place, grad)) in places.iter().zip(grad.chunks_exact(width)).enumerate() {
                if let Some(later) = places.get(i + prefetch::AHEAD).filter(|p| **p / height == band) {
                    vars.iter().for_each(|v| prefetch::row(v, (later - band * height) * width, width));
                }
                if place / height == band {
                    let row = (place - band * height) * width;
                    change(vars.each_mut().map(|v| &mut v[row..][..width]), grad);
                }
            }
        }
    });
}

/// Gradients of fewer elements use one thread.
const SPREAD: usize = 16 << 10;

/// Calls `work` with the values of all variables, taken out under their locks, and puts them back.
fn with_values<const N: usize>(
    vars: &[Arc<Variable>],
    work: &mut dyn FnMut(&mut [Tensor; N]) -> Result<()>,
) -> Result<()> {
    // Locked in address order: no deadlock between updates.
    let mut order: [usize; N] = std::array::from_fn(|i| i);
    order.sort_by_key(|i| Arc::as_ptr(&vars[*i]));
    if order.windows(2).any(|w| Arc::ptr_eq(&vars[w[0]], &vars[w[1]])) {
        return Err(invalid!("the variable and its slots must be different variables"));
    }
    let mut values = std::array::from_fn(|_| Tensor::scalar(0u8));
    locked(vars, &order, &mut values, work)
}

/// One level for each variable still to be locked.
fn locked<const N: usize>(
    vars: &[Arc<Variable>],
    order: &[usize],
    values: &mut [Tensor; N],
    work: &mut dyn FnMut(&mut [Tensor; N]) -> Result<()>,
) -> Result<()> {
    let Some((first, rest)) = order.split_first() else { return work(values) };
    vars[*first].update(|t| {
        std::mem::swap(t, &mut values[*first]);
        let result = locked(vars, rest, values, work);
        std::mem::swap(t, &mut values[*first]);
        result
    })
}

/// Shape rule: the variables have one shape, that of the gradient; in sparse forms the gradient has a row for each index.
/// The other inputs are scalars.
pub fn shapes<O: Optimizer>(c: &ShapeCall<'_>) -> Result<Vec<PartialShape>> {
    update_shapes(c, O::VARIABLES, O::GRAD_INPUT)
}

fn update_shapes(c: &ShapeCall<'_>, variables: usize, grad: usize) -> Result<Vec<PartialShape>> {
    let of = |i: usize| if c.outputs > 0 { c.input(i) } else { variable_shape(c, i) };
    let sparse = is_sparse(c.attrs);
    let mut shape = if sparse { PartialShape::unknown() } else { c.input(grad) };
    for i in 0..variables {
        shape = shape.merge(&of(i))?;
    }
    if sparse {
        sparse_shapes(c, grad, &shape)?;
    }
    for i in scalar_inputs(c.inputs.len(), variables, grad, sparse) {
        c.scalar(i)?;
    }
    c.all(shape)
}

fn sparse_shapes(c: &ShapeCall<'_>, grad: usize, var: &PartialShape) -> Result<()> {
    let (rows, grad) = (c.rank(grad + 1, 1)?, c.rank_at_least(grad, 1)?);
    let (Some(var), Some(rows)) = (var.dims(), rows.dims()) else { return Ok(()) };
    let Some((_, rest)) = var.split_first() else {
        return Err(invalid!("var must be at least 1 dimensional"));
    };
    let wanted: PartialShape = rows.iter().chain(rest).copied().collect();
    wanted.merge(&grad).map(|_| ()).map_err(|e| e.context("grad must have a row for each of the indices"))
}
