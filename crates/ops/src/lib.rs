//! Every op, one file each, by family. `ALL` is the op table; nothing here runs by itself.
//!
//! To add an op: write its file in the family it belongs to, and name its `Op` item in that family's `OPS` list.

// Tests make the files that they read.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod dataset;
pub mod prelude;

mod broadcast;
mod elementwise;
mod files;
mod gradients;
mod indices;
mod moving;
mod narrow;
mod number;
mod printf;
mod rows;
mod windows;

mod accumulator;
mod arithmetic;
mod array;
mod basic;
mod blocks;
mod control;
mod debug;
mod function;
mod image;
mod indexing;
mod linalg;
mod lookup;
mod matrix_parts;
mod nn;
mod queue;
mod random;
mod reduce;
mod save;
mod sparse;
mod stack;
mod state;
mod string;
mod summary;
mod tensor_array;
mod tensor_list;
mod training;
mod transfer;

#[cfg(test)]
mod testing;

use thalweg_core::op::Op;
use thalweg_core::registry::Registry;

/// All families.
#[rustfmt::skip]
pub static ALL: &[&[&Op]] = &[
    accumulator::OPS,
    arithmetic::OPS,
    array::OPS,
    basic::OPS,
    blocks::OPS,
    control::OPS,
    dataset::OPS,
    debug::OPS,
    function::OPS,
    image::OPS,
    indexing::OPS,
    linalg::OPS,
    lookup::OPS,
    matrix_parts::OPS,
    nn::OPS,
    nn::batch_norm::OPS,
    nn::conv::OPS,
    nn::fused::OPS,
    nn::pool::OPS,
    queue::OPS,
    random::OPS,
    reduce::OPS,
    save::OPS,
    sparse::OPS,
    stack::OPS,
    state::OPS,
    string::OPS,
    summary::OPS,
    tensor_array::OPS,
    tensor_list::OPS,
    training::OPS,
    transfer::OPS,
];

/// A registry of all ops.
pub fn registry() -> Registry {
    Registry::new(ALL)
}
