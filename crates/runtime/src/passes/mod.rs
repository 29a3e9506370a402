//! Rewrites of a work graph. Each pass is a function of `Work`; switching any optimisation off changes no result.

mod carried_reads;
pub mod common;
mod dropped_reads;
pub mod epilogue;
pub mod fold;
pub mod fuse;
pub mod hoist;
pub mod inline;
pub mod late_reads;
pub mod shapes;
pub mod unused;

use crate::work::Work;
use shapes::Given;
use std::sync::Arc;
use thalweg_core::error::Result;
use thalweg_core::step::StepContext;

/// Inlines calls and turns functional control flow into primitives; moves reads of reference variables to where they are seen:
/// not optimisations, but how such nodes run.
pub fn expand(work: &mut Work) -> Result<()> {
    inline::expand_calls(work)?;
    late_reads::read_late(work)
}

/// Makes the graph smaller; it stays one of ops.
pub fn simplify(work: &mut Work, step: &Arc<StepContext>, given: &Given) -> Result<()> {
    fold::fold_constants(work, step, given)?;
    common::merge_common(work)
}

/// As `simplify`, for a graph that has not been cut into parts yet.
pub fn simplify_whole(work: &mut Work, step: &Arc<StepContext>, given: &Given) -> Result<()> {
    simplify(work, step, given)?;
    unused::skip_unused(work)
}

/// Makes the graph of one device cheaper to run: its nodes are then no longer all ops.
pub fn fuse(work: &mut Work) -> Result<()> {
    hoist::hoist_transposes(work)?;
    epilogue::take_in_epilogues(work)?;
    if work.has_control_flow { Ok(()) } else { fuse::fuse_elementwise(work) }
}

/// Both, for a graph that runs on one device.
pub fn optimise(work: &mut Work, step: &Arc<StepContext>) -> Result<()> {
    simplify(work, step, &Given::default())?;
    fuse(work)
}
