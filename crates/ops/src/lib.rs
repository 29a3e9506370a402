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

mod arithmetic;
mod array;
mod basic;
mod blocks;
mod control;
mod indexing;
mod matrix_parts;
mod state;

#[cfg(test)]
mod testing;

use thalweg_core::op::Op;
use thalweg_core::registry::Registry;

/// All families.
pub static ALL: &[&[&Op]] = &[
    basic::OPS,
    arithmetic::OPS,
    array::OPS,
    blocks::OPS,
    control::OPS,
    indexing::OPS,
    matrix_parts::OPS,
    state::OPS,
];

/// A registry of all ops.
pub fn registry() -> Registry {
    Registry::new(ALL)
}
