//! Stacks: values saved for the backward pass of a loop, per step.

mod resource;
mod stack_v2;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &stack_v2::STACK_V2,
    &stack_v2::STACK,
    &stack_v2::STACK_PUSH_V2,
    &stack_v2::STACK_PUSH,
    &stack_v2::STACK_POP_V2,
    &stack_v2::STACK_POP,
    &stack_v2::STACK_CLOSE_V2,
    &stack_v2::STACK_CLOSE,
];
