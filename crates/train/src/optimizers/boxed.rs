//! An optimizer chosen at run time.

use super::{Optimizer, Power, Setting, Slot, Update};
use thalweg_client::{IndexedSlices, Operation, Output, Result};

impl<O: Optimizer + ?Sized> Optimizer for Box<O> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn settings(&self) -> Vec<(&'static str, Setting)> {
        (**self).settings()
    }

    fn slots(&self) -> Vec<Slot> {
        (**self).slots()
    }

    fn powers(&self) -> Vec<Power> {
        (**self).powers()
    }

    fn dense(&self, u: &Update<'_>, gradient: &Output) -> Operation {
        (**self).dense(u, gradient)
    }

    fn sparse(&self, u: &Update<'_>, rows: &IndexedSlices) -> Operation {
        (**self).sparse(u, rows)
    }

    fn check(&self) -> Result<()> {
        (**self).check()
    }

    fn use_locking(&self) -> bool {
        (**self).use_locking()
    }

    fn sums_rows(&self) -> bool {
        (**self).sums_rows()
    }
}
