//! The op table: every family of the `ops-*` crates. Families compile side by side; a change in one does not rebuild the others.

pub use thalweg_ops_data::dataset;

use thalweg_core::op::Op;
use thalweg_core::registry::Registry;
use thalweg_ops_kit::{joined, total};

const GROUPS: &[&[&[&Op]]] = &[
    thalweg_ops_array::ALL,
    thalweg_ops_data::ALL,
    thalweg_ops_math::ALL,
    thalweg_ops_media::ALL,
    thalweg_ops_nn::ALL,
    thalweg_ops_state::ALL,
    thalweg_ops_text::ALL,
];

/// All families.
pub static ALL: &[&[&Op]] = &joined::<_, { total(GROUPS) }>(GROUPS, GROUPS[0][0]);

/// A registry of all ops.
pub fn registry() -> Registry {
    Registry::new(ALL)
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_two_groups_have_an_op_of_the_same_name() {
        let mut seen = std::collections::HashSet::new();
        for op in super::ALL.iter().copied().flatten() {
            assert!(seen.insert(op.name), "{} is listed twice", op.name);
        }
    }
}
