//! Ops that only forward a value: Switch, Merge, Enter, Exit, NextIteration, LoopCond and Identity.

use thalweg_core::op::{Class, Op};

/// How an op forwards its input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forward {
    /// To its only output.
    Whole,
    /// To the output that the second input selects.
    Switch,
    /// With the index of the input that arrived.
    Merge,
}

impl Forward {
    pub fn of(op: &Op) -> Option<Forward> {
        match op.class {
            Class::Switch => Some(Forward::Switch),
            Class::Merge => Some(Forward::Merge),
            Class::Enter | Class::Exit | Class::NextIteration | Class::LoopCond => Some(Forward::Whole),
            _ if op.identity => Some(Forward::Whole),
            _ => None,
        }
    }
}
