//! The ops every graph is made of: constants, placeholders, pass-through.

mod const_;
mod identity;
mod no_op;
mod placeholder;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &const_::CONST,
    &identity::IDENTITY,
    &no_op::NO_OP,
    &placeholder::PLACEHOLDER,
    &placeholder::PLACEHOLDER_WITH_DEFAULT,
];
