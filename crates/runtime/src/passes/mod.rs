//! Rewrites of a work graph. Each pass is a function of `Work`, listed in `PASSES` in the order in which they run. Those of
//! `Stage::Lower` are required; disabling any other changes no result.
//!
//! To add a pass: write it in a file of its own and add it to the list, with the reason for its position.

mod carried_reads;
mod common;
mod dropped_reads;
mod epilogue;
mod fold;
mod fuse;
mod hoist;
mod inline;
mod late_reads;
mod shapes;
mod unused;

pub use fuse::tile_of;
pub use shapes::KnownShapes;

use crate::work::Work;
use std::sync::Arc;
use thalweg_core::error::Result;
use thalweg_core::step::StepContext;

pub struct Pass {
    pub name: &'static str,
    /// Its purpose, and why it runs at this point.
    pub why: &'static str,
    pub stage: Stage,
    pub run: fn(&mut Work, &PassContext<'_>) -> Result<()>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// Always, on the whole graph: lowers nodes that no executor runs.
    Lower,
    /// When optimising, on the whole graph: makes it smaller. All nodes are still ops, so that other tasks can run them.
    Simplify,
    /// When optimising, on the part of one device after partitioning: makes it cheaper to run.
    Fuse,
}

/// Inputs of passes besides the graph.
pub struct PassContext<'a> {
    /// The step in which constant folding runs kernels.
    pub step: &'a Arc<StepContext>,
    pub shapes: &'a KnownShapes,
    pub skip_unused: bool,
}

pub static PASSES: [Pass; 9] = [
    Pass {
        name: "inline",
        why: "Replaces calls by function bodies, and If, Case and While by Switch, Merge, Enter and Exit. First, so that all other \
              passes see the nodes that will run.",
        stage: Stage::Lower,
        run: |work, _| inline::inline_calls(work),
    },
    Pass {
        name: "late_reads",
        why: "A user of a reference variable that runs after an update reads the variable then. Before all passes that may \
              merge or move reads.",
        stage: Stage::Lower,
        run: |work, _| late_reads::read_late(work),
    },
    Pass {
        name: "constants",
        why: "Const nodes become values, which plans hold. After inlining, which brings in the constants of bodies.",
        stage: Stage::Lower,
        run: |work, _| {
            fold::read_constants(work);
            Ok(())
        },
    },
    Pass {
        name: "fold",
        why: "Computes what constants and known shapes decide. Before the passes that compare and count nodes, as it leaves fewer.",
        stage: Stage::Simplify,
        run: |work, c| fold::fold_constants(work, c.step, c.shapes),
    },
    Pass {
        name: "common",
        why: "Common subexpression elimination. After folding, which makes more nodes equal.",
        stage: Stage::Simplify,
        run: |work, _| common::merge_common(work),
    },
    Pass {
        name: "unused",
        why: "Pure nodes that are only waited for become NoOps. After common subexpression elimination, which merges some \
              with nodes that are used; before partitioning, so that no device computes or sends them.",
        stage: Stage::Simplify,
        run: |work, c| if c.skip_unused { unused::skip_unused(work) } else { Ok(()) },
    },
    Pass {
        name: "hoist",
        why: "Transposes loop-invariant matrices before the loop. Before the epilogues, which turn the products into fused ops.",
        stage: Stage::Fuse,
        run: |work, _| hoist::hoist_transposes(work),
    },
    Pass {
        name: "epilogue",
        why: "Fuses the sum and the ReLU after a product into it. Before elementwise fusion, which would take them.",
        stage: Stage::Fuse,
        run: |work, _| epilogue::fuse_epilogues(work),
    },
    Pass {
        name: "fuse",
        why: "Trees of elementwise ops become one loop each. Last: its nodes are no ops any more, and no other pass knows them.",
        stage: Stage::Fuse,
        run: |work, _| fuse::fuse_elementwise(work),
    },
];

/// Runs the passes of one stage.
pub fn run(stage: Stage, work: &mut Work, context: &PassContext<'_>) -> Result<()> {
    PASSES.iter().filter(|p| p.stage == stage).try_for_each(|p| (p.run)(work, context))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_listed_in_the_order_of_their_stages() {
        assert!(PASSES.is_sorted_by_key(|p| p.stage));
    }
}
