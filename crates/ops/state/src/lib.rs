//! Ops of variables, optimizers, queues, tables, lists, accumulators. `ALL` lists the families.

// Input must not be able to panic: tests may.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]
// Tests make the files that they read.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

#[macro_use]
extern crate thalweg_ops_kit;

mod accumulator;
mod barrier;
mod batching;
mod by_value;
pub mod lookup;
mod mutex;
pub mod queue;
mod session_tensor;
mod stack;
mod stage;
mod state;
mod tensor_array;
mod tensor_list;
mod tensor_map;
mod training;
mod waiting;

#[cfg(test)]
#[path = "../../kit/testing.rs"]
#[allow(dead_code, reason = "each crate uses a part of it")]
mod testing;

use thalweg_ops_kit::*;

#[rustfmt::skip]
pub static ALL: &[&[&thalweg_core::op::Op]] = &[
    accumulator::OPS,
    barrier::OPS,
    batching::OPS,
    lookup::OPS,
    mutex::OPS,
    queue::OPS,
    session_tensor::OPS,
    stack::OPS,
    stage::OPS,
    state::OPS,
    tensor_array::OPS,
    tensor_list::OPS,
    tensor_map::OPS,
    training::OPS,
];
