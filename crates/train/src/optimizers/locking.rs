//! `use_locking`, for any optimizer.

use super::{Optimizer, Power, Setting, Slot, Update};
use thalweg_client::{IndexedSlices, Operation, Output, Result};

/// An optimizer whose updates have `use_locking`: on TensorFlow, workers that train one variable wait for
/// each other. Thalweg's own kernels always lock.
pub struct Locking<O>(pub(super) O);

impl<O: Optimizer> Optimizer for Locking<O> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        self.0.settings()
    }

    fn slots(&self) -> Vec<Slot> {
        self.0.slots()
    }

    fn powers(&self) -> Vec<Power> {
        self.0.powers()
    }

    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn use_locking(&self) -> bool {
        true
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        self.0.dense(u, gradient)
    }

    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        self.0.sparse(u, rows)
    }

    fn sums_rows(&self) -> bool {
        self.0.sums_rows()
    }
}
