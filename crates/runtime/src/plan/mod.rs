//! Plans: a work graph compiled for an executor, without look-ups.

pub mod frame_id;
mod general;
mod kernels;
mod loop_form;
mod loop_program;
mod loops;
mod straight;
mod urgency;

pub use general::{CONTROL, Edge, EnterInfo, FETCH, General, GeneralNode, Source, StaticFrame};
pub use kernels::KernelCache;
pub use loop_program::{LoopKernels, LoopProgram};
pub use straight::{Operand, Straight, StraightNode};
pub use urgency::LOOP_WEIGHT;

use crate::work::{Kind, Work, WorkNode, work_order};
use std::sync::Arc;
use thalweg_core::attr::Attr;
use thalweg_core::error::Result;
use thalweg_core::node::NodeId;
use thalweg_core::op::Class;

/// What runs on one device.
pub enum Plan {
    /// No control flow and no async kernels: one node after the other.
    Straight(Straight),
    General(Arc<General>),
}

impl Plan {
    /// `loops`: makes loop programs; without it loops run node by node. `on_pool`: it runs on a pool thread, which it
    /// must yield.
    pub fn compile(
        mut work: Work,
        device: &str,
        cache: &KernelCache,
        loops: Option<LoopKernels>,
        on_pool: bool,
    ) -> Result<Plan> {
        let mut order = work_order(&work)?;
        let mut kernels = cache.for_nodes(&work, &order, device)?;
        if let Some(loops) = loops.filter(|_| work.has_control_flow) {
            loops::compile_loops(&mut work, &mut order, &mut kernels, loops, device)?;
        }
        let slice_loops = on_pool && !kernels.loops.is_empty();
        if work.has_control_flow || kernels.any_async() || slice_loops {
            // After a wait the run resumes on a thread that it must yield.
            kernels.slice_loops();
            return Ok(Plan::General(Arc::new(General::compile(&work, &order, kernels.computes)?)));
        }
        Ok(Plan::Straight(Straight::compile(&work, &order, kernels.computes)))
    }

    /// Whether a run may take any time, whatever its number of nodes.
    pub fn has_loops(&self) -> bool {
        match self {
            Plan::Straight(p) => p.has_loops,
            Plan::General(p) => p.has_loops,
        }
    }

    /// Names of the graph's constants that it uses.
    pub fn constant_names(&self) -> &[Arc<str>] {
        match self {
            Plan::Straight(p) => &p.constant_names,
            Plan::General(p) => &p.constant_names,
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

/// Whether a node may run for ever: a back edge, a loop, or a function call, which may have loops.
fn may_loop(node: &WorkNode) -> bool {
    let is_function = |a: &Attr| matches!(a, Attr::Func(_));
    let calls = |a: &Attr| match a {
        Attr::List(items) => items.iter().any(is_function),
        one => is_function(one),
    };
    let leads_back = matches!(node.kind, Kind::Loop) || node.op.class == Class::NextIteration;
    leads_back || node.attrs.iter().any(|(_, a)| calls(a))
}

/// The names of `Const` nodes. Values that folding made are not among them.
fn constant_names(work: &Work, order: &[NodeId]) -> Vec<Arc<str>> {
    let nodes = order.iter().map(|id| work.node(*id));
    nodes.filter(|n| n.op.class == Class::Constant).map(|n| n.name.clone()).collect()
}
