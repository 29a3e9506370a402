//! Every op, one file each, by family. `ALL` is the op table; nothing here runs by itself.
//!
//! To add an op: write its file in the family it belongs to, and name its `Op` item in that family's `OPS` list.

pub mod prelude;

mod broadcast;
mod elementwise;
mod gradients;
mod number;
mod printf;
mod runs;

mod arithmetic;
mod array;
mod basic;
mod control;
mod debug;
mod lookup;
mod queue;
mod random;
mod stack;
mod state;
mod string;
mod tensor_array;
mod tensor_list;
mod training;

#[cfg(test)]
mod testing;

use thalweg_core::op::Op;
use thalweg_core::registry::Registry;

/// All families.
pub static ALL: &[&[&Op]] = &[
    basic::OPS,
    arithmetic::OPS,
    array::OPS,
    control::OPS,
    state::OPS,
    random::OPS,
    queue::OPS,
    debug::OPS,
    stack::OPS,
    tensor_array::OPS,
    tensor_list::OPS,
    lookup::OPS,
    string::OPS,
    training::OPS,
];

/// A registry of all ops.
pub fn registry() -> Registry {
    Registry::new(ALL)
}
