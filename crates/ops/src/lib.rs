//! Every op, by family. `ALL` is the op table; nothing here runs by itself.
//!
//! To add an op: write its `Op` item in the file of its theme, and name it in that file's `OPS` list. A family's `OPS` joins the
//! lists of its files (`join!`), `ALL` those of the families.

// Tests make the files that they read.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

/// The lists of several files as one list, joined by the compiler: `static OPS: &[&Op] = join![sums::OPS, division::OPS];`.
macro_rules! join {
    ($($list:expr),+ $(,)?) => {{
        const LISTS: &[&[&thalweg_core::op::Op]] = &[$($list),+];
        &$crate::joined::<_, { $crate::total(LISTS) }>(LISTS, LISTS[0][0])
    }};
}

#[macro_use]
mod templates;

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

mod accumulator;
mod arithmetic;
mod array;
mod basic;
mod control;
mod debug;
mod function;
mod image;
mod indexing;
mod linalg;
mod lookup;
mod nn;
mod queue;
mod random;
mod reduce;
mod save;
mod sort;
mod space;
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
    control::OPS,
    dataset::OPS,
    debug::OPS,
    function::OPS,
    image::OPS,
    indexing::OPS,
    linalg::OPS,
    lookup::OPS,
    nn::OPS,
    queue::OPS,
    random::OPS,
    reduce::OPS,
    save::OPS,
    sort::OPS,
    space::OPS,
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

/// How many items the lists have together.
const fn total<T>(lists: &[&[T]]) -> usize {
    let (mut n, mut i) = (0, 0);
    while i < lists.len() {
        n += lists[i].len();
        i += 1;
    }
    n
}

/// The lists one after another. Runs in the compiler only, see `join!`.
const fn joined<T: Copy, const N: usize>(lists: &[&[T]], first: T) -> [T; N] {
    let mut all = [first; N];
    let (mut at, mut i) = (0, 0);
    while i < lists.len() {
        let mut j = 0;
        while j < lists[i].len() {
            all[at] = lists[i][j];
            (at, j) = (at + 1, j + 1);
        }
        i += 1;
    }
    all
}
