//! Plans: a pruned, placed, rewritten graph turned into what an executor runs without looking anything up.

mod general;
mod kernels;
mod loop_program;
mod loops;
mod order;
mod straight;
mod urgency;

pub use general::{CONTROL, Edge, EnterInfo, FETCH, General, GeneralNode, Source, StaticFrame};
pub use kernels::KernelCache;
pub use loop_program::LoopProgram;
pub use order::work_order;
pub use straight::{Operand, Straight, StraightNode};
pub use urgency::LOOP_WEIGHT;

use crate::work::Work;
use std::sync::Arc;
use thalweg_core::direct::Runnable;
use thalweg_core::error::Result;
use thalweg_core::kernel::KernelNode;

/// What runs on one device.
pub enum Plan {
    /// No control flow and nothing that waits: one node after the other.
    Straight(Straight),
    General(Arc<General>),
}

/// The kernel of a node with what it was made from.
#[derive(Clone)]
pub struct Compute {
    pub run: Runnable,
    pub node: Arc<KernelNode>,
}

impl Plan {
    /// `optimise`: loops may become programs.
    pub fn compile(mut work: Work, device: &str, kernels: &KernelCache, optimise: bool) -> Result<Plan> {
        let mut order = work_order(&work)?;
        let mut computes = kernels.for_nodes(&work, &order, device)?;
        if work.has_control_flow && optimise {
            loops::compile_loops(&mut work, &mut order, &mut computes, device)?;
        }
        let waits = computes.iter().flatten().any(|c| matches!(c.run, Runnable::Async(_)));
        if work.has_control_flow || waits {
            return Ok(Plan::General(Arc::new(General::compile(&work, &order, computes)?)));
        }
        Ok(Plan::Straight(Straight::compile(&work, &order, computes)))
    }

    /// Nodes that a run executes at most (loops aside), for tests and statistics.
    pub fn len(&self) -> usize {
        match self {
            Plan::Straight(p) => p.nodes.len(),
            Plan::General(p) => p.nodes.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
