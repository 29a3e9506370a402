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

use crate::work::{Kind, Work, WorkNode};
use std::sync::Arc;
use thalweg_core::attr::Attr;
use thalweg_core::error::Result;
use thalweg_core::kernel::KernelNode;
use thalweg_core::node::NodeId;
use thalweg_core::op::Class;
use thalweg_core::runnable::Runnable;

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
    /// `optimise`: loops may become programs. `on_pool`: it is not to keep the thread that it is run on.
    pub fn compile(
        mut work: Work,
        device: &str,
        kernels: &KernelCache,
        optimise: bool,
        on_pool: bool,
    ) -> Result<Plan> {
        let mut order = work_order(&work)?;
        let mut computes = kernels.for_nodes(&work, &order, device)?;
        if work.has_control_flow && optimise {
            loops::compile_loops(&mut work, &mut order, &mut computes, device)?;
        }
        let waits = computes.iter().flatten().any(|c| matches!(c.run, Runnable::Async(_)));
        if work.has_control_flow || waits || on_pool && loops(&work, &order).next().is_some() {
            // After a wait it goes on where the answer comes, or on the pool.
            for (id, program) in loops(&work, &order) {
                if let Some(Some(Compute { run: run @ Runnable::Prepared(_), .. })) =
                    computes.get_mut(id.at())
                {
                    *run = program.sliced(false);
                }
            }
            return Ok(Plan::General(Arc::new(General::compile(&work, &order, computes)?)));
        }
        Ok(Plan::Straight(Straight::compile(&work, &order, computes)))
    }

    /// Whether nobody can tell from its nodes how long a run takes: there are loops.
    pub fn has_loops(&self) -> bool {
        match self {
            Plan::Straight(p) => p.has_loops,
            Plan::General(p) => p.has_loops,
        }
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

/// The nodes that are loops as programs.
fn loops<'a>(work: &'a Work, order: &'a [NodeId]) -> impl Iterator<Item = (NodeId, &'a Arc<LoopProgram>)> {
    order.iter().filter_map(|id| match &work.node(*id).kind {
        Kind::Loop(program) => Some((*id, program)),
        _ => None,
    })
}

/// Whether a node may run for ever: it leads back, is a loop or calls functions, which may have loops.
fn may_loop(node: &WorkNode) -> bool {
    let is_function = |a: &Attr| matches!(a, Attr::Func(_));
    let calls = |a: &Attr| match a {
        Attr::List(items) => items.iter().any(is_function),
        one => is_function(one),
    };
    let leads_back = matches!(node.kind, Kind::Loop(_)) || node.op.class == Class::NextIteration;
    leads_back || node.attrs.iter().any(|(_, a)| calls(a))
}
