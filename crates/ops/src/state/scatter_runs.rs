//! What all scatters into variables share: find the runs, check them all, then change the variable under its lock.

use super::target::{give_back, initialised};
use crate::prelude::*;
use crate::runs::{Runs, put};

/// How a run of the variable changes by a run of updates.
pub enum Change<T> {
    Replace,
    Combine(fn(&mut [T], &[T])),
}

/// Where the updates go: runs of the variable's elements, from its shape, the indices and the shape of the updates.
pub type Find = fn(&Shape, &Tensor, &Shape) -> Result<Runs>;

/// Changes the variable of input 0 by the updates of input 2 at the runs that the indices of input 1 name.
/// Nothing is changed if any index is bad.
pub fn scatter<T: Element>(c: &mut OpCall<'_>, find: Find, change: &Change<T>) -> Result<()> {
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
        let runs = find(t.shape(), indices, updates.shape())?;
        match change {
            Change::Replace => put(t, &runs, updates),
            Change::Combine(f) => combine(t, &runs, updates.as_slice::<T>()?, *f),
        }
    })?;
    give_back(c, v);
    Ok(())
}

fn combine<T: Element>(t: &mut Tensor, runs: &Runs, updates: &[T], f: fn(&mut [T], &[T])) -> Result<()> {
    let values = t.as_mut_slice::<T>()?;
    let one_for_all = match updates {
        [one] => vec![*one; runs.len],
        _ => vec![],
    };
    for (i, start) in runs.starts.iter().enumerate() {
        let by = if one_for_all.is_empty() { &updates[i * runs.len..][..runs.len] } else { &one_for_all };
        f(&mut values[*start..][..runs.len], by);
    }
    Ok(())
}
