//! The primitives of dynamic control flow. The executor dispatches on their class; kernels only forward values.

mod loops;
mod merge;
mod switch;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &switch::SWITCH,
    &switch::REF_SWITCH,
    &merge::MERGE,
    &merge::REF_MERGE,
    &loops::ENTER,
    &loops::REF_ENTER,
    &loops::EXIT,
    &loops::REF_EXIT,
    &loops::NEXT_ITERATION,
    &loops::REF_NEXT_ITERATION,
    &loops::LOOP_COND,
    &loops::CONTROL_TRIGGER,
];
