//! Every op, one file each, by family. `ALL` is the op table; nothing here runs by itself.
//!
//! To add an op: write its file in the family it belongs to, and name its `Op` item in that family's `OPS` list.

pub mod prelude;

mod broadcast;
mod elementwise;
mod gradients;
mod indices;
mod moving;
mod number;
mod printf;
mod rows;

mod arithmetic;
mod array;
mod basic;
mod blocks;
mod control;
mod dataset;
mod debug;
mod function;
mod indexing;
mod linalg;
mod lookup;
mod matrix_parts;
mod nn;
mod queue;
mod random;
mod reduce;
mod stack;
mod state;
mod string;
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
    arithmetic::OPS,
    array::OPS,
    basic::OPS,
    blocks::OPS,
    control::OPS,
    dataset::OPS,
    debug::OPS,
    function::OPS,
    indexing::OPS,
    linalg::OPS,
    lookup::OPS,
    matrix_parts::OPS,
    nn::OPS,
    queue::OPS,
    random::OPS,
    reduce::OPS,
    stack::OPS,
    state::OPS,
    string::OPS,
    tensor_array::OPS,
    tensor_list::OPS,
    training::OPS,
    transfer::OPS,
];

/// A registry of all ops.
pub fn registry() -> Registry {
    Registry::new(ALL)
}
