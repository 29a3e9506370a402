//! The ops every graph is made of: constants, placeholders, pass-through.

mod abort;
mod check_numerics;
mod const_;
mod copies;
mod device_facts;
mod ensure_shape;
mod gradient_stops;
mod identity;
mod identity_n;
mod immutable_const;
mod no_op;
mod placeholder;
mod snapshot;

use thalweg_core::op::Op;

pub static OPS: &[&Op] = &[
    &abort::ABORT,
    &copies::COPY,
    &copies::COPY_HOST,
    &copies::GUARANTEE_CONST,
    &device_facts::DEVICE_INDEX,
    &device_facts::GRAPH_DEF_VERSION,
    &immutable_const::IMMUTABLE_CONST,
    &check_numerics::CHECK_NUMERICS,
    &check_numerics::CHECK_NUMERICS_V2,
    &const_::CONST,
    &ensure_shape::ENSURE_SHAPE,
    &gradient_stops::PREVENT_GRADIENT,
    &gradient_stops::STOP_GRADIENT,
    &identity::IDENTITY,
    &identity_n::IDENTITY_N,
    &no_op::NO_OP,
    &placeholder::PLACEHOLDER,
    &placeholder::PLACEHOLDER_WITH_DEFAULT,
    &placeholder::PLACEHOLDER_V2,
    &placeholder::FAKE_PARAM,
    &snapshot::DEEP_COPY,
    &snapshot::SNAPSHOT,
];
