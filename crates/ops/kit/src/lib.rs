//! What op families are written with: the prelude, templates of elementwise ops, and code that several families share. No op is here.

// Input must not be able to panic: tests may.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

/// The lists of several files as one list, joined by the compiler: `static OPS: &[&Op] = join![sums::OPS, division::OPS];`.
#[macro_export]
macro_rules! join {
    ($($list:expr),+ $(,)?) => {{
        const LISTS: &[&[&thalweg_core::op::Op]] = &[$($list),+];
        &$crate::joined::<_, { $crate::total(LISTS) }>(LISTS, LISTS[0][0])
    }};
}

#[macro_use]
pub mod templates;

pub mod axis;
pub mod broadcast;
pub mod convert;
pub mod elementwise;
pub mod files;
pub mod gradients;
pub mod held;
pub mod indices;
pub mod keys;
pub mod levels;
pub mod moving;
pub mod named;
pub mod narrow;
pub mod number;
pub mod paddings;
pub mod prelude;
pub mod printf;
pub mod rows;
pub mod strides;
pub mod variants;
pub mod windows;

/// How many items the lists have together.
pub const fn total<T>(lists: &[&[T]]) -> usize {
    let (mut n, mut i) = (0, 0);
    while i < lists.len() {
        n += lists[i].len();
        i += 1;
    }
    n
}

/// The lists one after another. Runs in the compiler only, see `join!`.
pub const fn joined<T: Copy, const N: usize>(lists: &[&[T]], first: T) -> [T; N] {
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
