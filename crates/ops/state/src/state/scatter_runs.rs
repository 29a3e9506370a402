//! Shared by all scatters into variables: validates all indices, then updates the variable under its lock.

use super::target::{forward_ref, initialised};
use crate::moving::{Scatter, apply, filled};
use crate::prelude::*;

/// How a slice of the variable is updated.
pub enum Change<T> {
    Replace,
    Combine(fn(&mut [T], &[T])),
}

impl<T: Number> Change<T> {
    pub const ADD: Self = Change::Combine(|x, d| x.iter_mut().zip(d).for_each(|(x, d)| *x = x.add(*d)));
    pub const SUB: Self = Change::Combine(|x, d| x.iter_mut().zip(d).for_each(|(x, d)| *x = x.sub(*d)));
    pub const MUL: Self = Change::Combine(|x, d| x.iter_mut().zip(d).for_each(|(x, d)| *x = x.mul(*d)));
    pub const DIV: Self = Change::Combine(|x, d| x.iter_mut().zip(d).for_each(|(x, d)| *x = x.div(*d)));
}

impl<T: Real> Change<T> {
    pub const MIN: Self = Change::Combine(|x, d| x.iter_mut().zip(d).for_each(|(x, d)| *x = x.smaller(*d)));
    pub const MAX: Self = Change::Combine(|x, d| x.iter_mut().zip(d).for_each(|(x, d)| *x = x.larger(*d)));
}

/// Targets: update `i` applies to the slice of `run` elements at `places[i]`; skipped if past the end.
pub struct Places {
    pub places: Vec<usize>,
    pub run: usize,
}

/// Updates the variable of input 0 by input 2 at the indices in input 1; `find` returns the slices, from its shape,
/// the indices and the shape of the updates. A single update element broadcasts. Any invalid index: no change.
pub fn scatter<T: Element>(
    c: &mut OpCall<'_>,
    find: impl FnOnce(&Shape, &Tensor, &Shape) -> Result<Places>,
    change: &Change<T>,
) -> Result<()> {
    let v = initialised(c, 0)?.0;
    let (indices, updates) = (c.input(1)?, c.input(2)?);
    v.update(|t| {
        if t.dtype() != updates.dtype() {
            return Err(invalid!(
                "variable {} holds {}, the updates are {}",
                v.name,
                t.dtype(),
                updates.dtype()
            ));
        }
        let Places { places, run } = find(t.shape(), indices, updates.shape())?;
        let one_for_all = updates.shape().is_scalar();
        let spread = match one_for_all {
            true => Some(filled(c.par(), updates.dtype(), Shape::vector(run), Some(updates))?),
            false => None,
        };
        let updates = spread.as_ref().unwrap_or(updates);
        match change {
            Change::Replace => apply(&Scatter { run, places: &places, one_for_all }, updates, t),
            Change::Combine(f) => {
                let (values, updates) = (t.as_mut_slice::<T>()?, updates.as_slice::<T>()?);
                for (i, place) in places.iter().enumerate() {
                    let by = if one_for_all { updates } else { &updates[i * run..][..run] };
                    if let Some(x) =
                        place.checked_mul(run).and_then(|at| values.get_mut(at..)?.get_mut(..run))
                    {
                        f(x, by);
                    }
                }
                Ok(())
            }
        }
    })?;
    forward_ref(c, v);
    Ok(())
}
